// How connections to a peer end: by its goodbye, broken, given up, or since its process is gone.
#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/exit_status.h"
#include "transport/tcp/peers.h"

namespace tutti::transport::tcp {
namespace {

constexpr std::int64_t kDoomNs = 1'000'000'000;

}  // namespace

// The stream ended, by goodbye or otherwise.
int Peers::bury(PeerConnection& one) {
  const StreamEnd ending = one.stream->ending();
  const std::string reason = one.stream->reason();
  // No error of a call: the program could go on with what it has. The socket is still open, so that
  // the other side does not tell of its end first.
  if (ending == StreamEnd::changed)
    wireup_.abort(kLinkChangedStatus, explain(one, "is reached by tcp, where " + reason).text,
                  wireup::Blame::own);
  close(one);
  const bool is_behind_goodbye = one.rail > 0 && at(one.rank).is_over;
  if (ending == StreamEnd::goodbye || is_behind_goodbye)
    end_wishes(one);
  else
    lose(one, explain(one, "lost its tcp connection: " + reason));
  return 1;
}

void Peers::close(PeerConnection& one) {
  cool(one.stream.get());
  std::erase(open_, &one);
  one.stream.reset();
}

// After a goodbye on this connection: behind the first one no other is made any more.
void Peers::end_wishes(PeerConnection& one) {
  one.is_over = true;
  if (one.rail > 0) return;
  for (const auto& each : all_[one.rank])
    if (!each->stream) {
      each->attempt.reset();
      each->guest.reset();
    }
}

void Peers::drop(int rank) {
  for (const auto& each : all_[rank]) {
    if (each->stream) close(*each);
    each->attempt.reset();
    each->guest.reset();
    each->is_over = true;
  }
}

void Peers::lose(PeerConnection& one, Error why) {
  one.is_over = true;
  lost_.push_back({one.rank, std::move(why)});
}

void Peers::tell_of_lost() {
  std::erase_if(lost_, [this](const Lost& each) {
    if (!gone_.is_reported(each.rank) && !is_drained(each.rank)) return false;
    if (gone_.mark(each.rank)) sink_.on_peer_gone(each.rank, each.why);
    return true;
  });
}

// Whether nothing can come any more of this peer, which is gone or was lost on one connection. What
// it sent before may still be on its way, also behind its word that a connection of ours stands;
// its kernel closes the connection behind it. Where it closed that in order, all has come.
bool Peers::is_drained(int rank) {
  at(rank);
  const std::int64_t now = now_ns();
  bool drained = true;
  for (const auto& each : all_[rank]) {
    if (each->doomed_at_ns == 0) each->doomed_at_ns = now;
    const bool may_have_sent = each->stream || each->attempt || each->guest;
    const bool is_waited_for = may_have_sent && now - each->doomed_at_ns < kDoomNs;
    if (!is_waited_for && each->stream) each->stream->fail_with("its process ended");
    drained = drained && !is_waited_for && !each->stream;  // buried in the next round
  }
  return drained;
}

void Peers::look_for_gone() {
  gone_.look([](int) { return true; },
             [this](int rank) {
               if (!is_drained(rank)) return false;
               drop(rank);
               sink_.on_peer_ended(rank, "tcp", gone_.error_for(rank));
               return true;
             });
}

}  // namespace tutti::transport::tcp
