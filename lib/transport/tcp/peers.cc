// Slots: attempts, guests, streams, and who wins when two connections meet.
#include "transport/tcp/peers.h"

#include <sys/random.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "base/clock.h"
#include "base/exit_status.h"
#include "base/log.h"
#include "base/shortage.h"

namespace tutti::transport::tcp {
namespace {

// Streams that are read in every poll, each by a system call; the others are left to epoll. Enough
// for both neighbours in two dimensions; chosen, not measured.
constexpr std::size_t kMostHot = 4;
constexpr int kFruitlessPulls = 256;  // then a stream is left to epoll
constexpr std::int64_t kTickNs = 20'000'000;
constexpr std::int64_t kStreamTickNs = 500'000'000;
constexpr std::int64_t kGoodbyeNs = 3'000'000'000;

Identity identity_of(const wireup::Wireup& wireup, Security security, Congestion congestion,
                     std::uint32_t rails) {
  const wireup::SegmentHeader& header = wireup.segment().header();
  Identity own;
  // Who is still in another program of this rank's knows other addresses.
  own.job = header.job_id + header.generation;
  std::copy(std::begin(header.job_key), std::end(header.job_key), own.key.begin());
  own.rank = static_cast<std::uint32_t>(wireup.rank());
  own.ranks = header.ranks;
  own.security = security;
  own.rails = rails;
  own.congestion = std::move(congestion);
  if (security != Security::none) own.ciphers = own_ciphers();
  return own;
}

}  // namespace

Peers::Peers(wireup::Wireup& wireup, Sink& sink, Security security, Congestion congestion,
             std::uint32_t rails)
    : wireup_(wireup),
      sink_(sink),
      own_(identity_of(wireup, security, std::move(congestion), rails)),
      reception_(own_),
      gone_(wireup) {}

Peers::~Peers() {
  const std::int64_t limit = now_ns() + kGoodbyeNs;
  for (PeerConnection* each : open_) each->stream->say_goodbye(limit);
  for (PeerConnection* each : open_) each->stream->see_off(limit);
  all_.clear();
}

double Peers::wire_gbits() const {
  double most = 0;
  for (const Interface& each : interfaces_)
    if (!each.is_private_bridge) most = std::max(most, each.wire_gbits);
  return most;
}

Result<void> Peers::listen(Family family, const std::string& interfaces) {
  if (!poller_.is_open()) return fail(Code::other, "out of file descriptors");
  TUTTI_TRY(wanted, InterfaceList::parse(interfaces));
  errno = 0;
  interfaces_ = usable_interfaces(family, wanted);
  if (interfaces_.empty() && is_shortage(errno))
    return fail(Code::other, "out of file descriptors");
  if (interfaces_.empty() && !wanted.is_empty())
    return fail(Code::arg, "TUTTI_INTERFACES=" + interfaces + ": none of those is up here");
  if (interfaces_.empty()) return fail(Code::other, "no network interface is up");
  std::size_t used[2] = {0, 0}, beyond = 0;
  std::string why;
  std::vector<SocketAddress> addresses;
  // Where we are not published we do not listen.
  for (const Interface& each : interfaces_) {
    std::size_t& count = used[each.address.is_ipv6 ? 1 : 0];
    if (count == kMostAddresses) {
      ++beyond;
      continue;
    }
    const auto port = reception_.open(each.address);
    if (!port) {
      why = port.error().text;
      continue;
    }
    ++count;
    addresses.push_back(each.address);
    addresses.back().port = *port;
  }
  if (addresses.empty()) return fail(Code::other, "cannot listen: " + why);
  if (beyond > 0)
    log::explain("tcp gives others " + std::to_string(addresses.size()) +
                 " addresses of this host, and not " + std::to_string(beyond) +
                 " more; TUTTI_INTERFACES says which");
  TUTTI_DO(reception_.begin());
  if (!poller_.add(reception_.bell(), EPOLLIN, &bell_))
    return fail(Code::other, "out of file descriptors");
  address_ = encode(addresses);
  return {};
}

void Peers::Bell::on_ready(std::uint32_t) {
  for (Guest& guest : peers.reception_.take_guests()) peers.welcome(std::move(guest));
}

PeerConnection& Peers::at(int rank, int rail) {
  auto& found = all_[rank];
  while (found.size() <= static_cast<std::size_t>(rail))
    found.push_back(std::make_unique<PeerConnection>(rank, static_cast<int>(found.size())));
  return *found[static_cast<std::size_t>(rail)];
}

Result<PeerConnection*> Peers::wish(int rank, BlobView address) {
  PeerConnection& first = at(rank);
  TUTTI_TRY(theirs, decode(address));
  first.theirs = std::move(theirs);
  begin(first);
  return &first;
}

PeerConnection& Peers::wish_rail(int rank, int rail) {
  PeerConnection& further = at(rank, rail);
  if (!further.is_given_up) begin(further);
  return further;
}

std::int64_t Peers::rail_fd_limit(int rail) const {
  if (rail == 0) return std::numeric_limits<std::int64_t>::max();
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const auto most = static_cast<std::int64_t>(std::min<rlim_t>(limit.rlim_cur, 1 << 30));
  return most - own_.ranks - most / static_cast<std::int64_t>(Reception::kOurShare);
}

bool Peers::is_in_vain(const PeerConnection& wish) {
  const Attempt& attempt = *wish.attempt;
  return wish.rail > 0 && !attempt.is_talking() && (attempt.is_short() || attempt.is_turned_away());
}

void Peers::give_up(PeerConnection& rail, Shortage of_files) {
  rail.attempt.reset();
  if (rail.guest) {
    const auto guest = std::move(rail.guest);
    welcome(std::move(*guest));
    if (rail.stream) return;
  }
  rail.is_given_up = true;
  if (std::exchange(has_told_of_rails_, true)) return;
  const std::string why =
      of_files == Shortage::there
          ? "it turned one away again and again, as a process does that may open too few files"
          : "this process may open too few files; " + advice_on_files();
  log::warn(explain(rail, "has fewer rails from here than TUTTI_TCP_RAILS=" +
                              std::to_string(own_.rails) + ", and so may others: " + why)
                .text);
}

void Peers::begin(PeerConnection& one) {
  if (one.stream || one.attempt || one.is_over || at(one.rank).is_over) return;
  unsettled_.push_back(&one);  // first: what the attempt lacks memory for is tried by the next wish
  one.attempt = std::make_unique<Attempt>(
      own_, Attempt::Whom{one.rank, one.rail, rail_fd_limit(one.rail)},
      order_candidates(at(one.rank).theirs, interfaces_, static_cast<std::size_t>(one.rail)),
      poller_, [this, rank = one.rank] { return lives(rank); });
}

bool Peers::lives(int rank) const {
  if (!wireup_.is_first(rank)) return !wireup_.is_gone(rank);
  const wireup::RankRecord& record = wireup_.segment().rank(static_cast<std::uint32_t>(rank));
  // relaxed: asked again in the next round.
  return wireup_.hears_of_ends() && record.gone.load(std::memory_order_relaxed) == 0 &&
         record.left.load(std::memory_order_relaxed) == 0;
}

void Peers::welcome(Guest guest) {
  PeerConnection& from = at(guest.handshake.peer(), guest.handshake.rail());
  // It has a link already, or none any more: this one closes.
  if (from.stream || from.is_over || at(from.rank).is_over) return;
  if (guest.fd.get() >= rail_fd_limit(from.rail)) {
    if (!from.attempt) give_up(from, Shortage::here);
    return;
  }
  const bool ours_goes_first = from.attempt && from.attempt->has_introduced_itself() &&
                               !from.attempt->has_failed() && wireup_.rank() < from.rank;
  if (ours_goes_first) {
    from.guest = std::make_unique<Guest>(std::move(guest));
    return;
  }
  if (!send_whole(guest.fd.get(), guest.handshake.verdict())) return;
  from.attempt.reset();
  establish(from, std::move(guest.fd), guest.handshake.session());
}

void Peers::establish(PeerConnection& one, UniqueFd fd, const LinkSession& session) {
  const int number = fd.get();
  own_.congestion.settle(number, round_trip_us_of(number));
  one.stream = std::make_unique<Stream>(std::move(fd), one.rank, poller_, scratch_, sink_, session);
  poller_.add(number, EPOLLIN | EPOLLOUT, one.stream.get());  // OUT once: the link is ready
  one.stream->expect_room();
  open_.push_back(&one);
  heat(one);
}

void Peers::settle(PeerConnection& one) {
  if (one.attempt && one.attempt->has_won()) {
    establish(one, one.attempt->take_winner(), one.attempt->session());
    one.attempt.reset();
    one.guest.reset();
  } else if (one.attempt && one.attempt->has_failed()) {
    if (one.guest) {
      auto guest = std::move(one.guest);
      one.attempt.reset();
      welcome(std::move(*guest));
    }
    if (!one.stream)
      lose(one, explain(one, "cannot be reached by tcp: " +
                                 (one.attempt ? one.attempt->reasons() : "its connection broke")));
    one.attempt.reset();
  }
}

void Peers::tick() {
  const std::int64_t now = now_ns();
  if (now - ticked_ns_ < kTickNs) return;
  ticked_ns_ = now;
  if (now - streams_ticked_ns_ >= kStreamTickNs) {
    streams_ticked_ns_ = now;
    for (PeerConnection* each : open_) each->stream->tick(now);
  }
  look_for_files(now);
  for (PeerConnection* each : unsettled_)
    if (each->attempt) {
      each->attempt->tick(now);
      if (is_in_vain(*each)) {
        give_up(*each, each->attempt->is_short() ? Shortage::here : Shortage::there);
        continue;
      }
      if (each->attempt->is_short()) tell_of_shortage(*each);
      if (each->attempt->take_complaint(now))
        log::warn(explain(*each, "does not answer by tcp: " + each->attempt->reasons() +
                                     "; it lives, so this goes on; if it should not last, see "
                                     "what stands between the hosts (prun --check)")
                      .text);
    }
}

void Peers::look_for_files(std::int64_t now) {
  const bool lacks =
      reception_.lacks_files() || std::any_of(unsettled_.begin(), unsettled_.end(), [](auto* each) {
        return each->attempt && each->attempt->lacks_files();
      });
  if (no_files_.look(lacks, now))
    wireup_.abort(kNoResourcesStatus,
                  wireup_.name_of(wireup_.rank()) + " needs more connections by tcp (it has " +
                      std::to_string(open_.size()) + ") than it may open files, for " +
                      std::to_string(NoFiles::kLongNs / 1'000'000'000) + " s: " + advice_on_files(),
                  wireup::Blame::own);
}

// Their numbers may be other files' by now: nothing is written to any of them.
void Peers::end_without_descriptors() {
  wireup_.abort(
      kNoResourcesStatus,
      wireup_.name_of(wireup_.rank()) +
          " has closed descriptors that it did not open, and with them what the library's "
          "connections by tcp need; whoever closes all (closefrom, a loop) does so before "
          "MPI_Init",
      wireup::Blame::own);
}

void Peers::tell_of_shortage(const PeerConnection& one) {
  if (std::exchange(has_told_, true)) return;
  log::warn(explain(one, "cannot be connected to yet, nor perhaps others: " +
                             one.attempt->reasons() + "; " + advice_on_shortage())
                .text);
}

int Peers::pull_hot() {
  int events = 0;
  for (std::size_t i = 0; i < hot_.size(); ++i) {
    const int got = hot_[i].stream->pull();
    hot_[i].fruitless = got > 0 ? 0 : hot_[i].fruitless + 1;
    events += got;
  }
  std::erase_if(hot_, [](const Hot& each) { return each.fruitless > kFruitlessPulls; });
  return events;
}

int Peers::serve() {
  int events = 0;
  const int ready = poller_.serve();
  if (poller_.is_lost() || reception_.is_deaf()) end_without_descriptors();
  if (ready > 0)
    for (PeerConnection* each : open_) {
      const int got = each->stream->take_events();
      if (got > 0) heat(*each);
      events += got;
    }
  tick();
  if (!unsettled_.empty()) {
    for (PeerConnection* each : unsettled_) settle(*each);
    std::erase_if(unsettled_, [](const auto* each) { return !each->attempt && !each->guest; });
  }
  for (std::size_t i = 0; i < open_.size();)
    if (open_[i]->stream->ending() == StreamEnd::open)
      ++i;
    else
      events += bury(*open_[i]);
  if (!lost_.empty()) tell_of_lost();
  return events;
}

Error Peers::explain(const PeerConnection& one, const std::string& what) const {
  return Error{Code::proc_aborted, wireup_.name_of(one.rank) + " " + what};
}

// A rail takes no first connection's place: what opens and ends messages comes by that.
void Peers::heat(const PeerConnection& one) {
  for (Hot& each : hot_)
    if (each.stream == one.stream.get()) {
      each.fruitless = 0;
      return;
    }
  if (hot_.size() == kMostHot) {
    auto coldest =
        std::find_if(hot_.begin(), hot_.end(), [](const Hot& each) { return each.is_rail; });
    if (coldest == hot_.end() && one.rail > 0) return;
    hot_.erase(coldest == hot_.end() ? hot_.begin() : coldest);
  }
  hot_.push_back({one.stream.get(), one.rail > 0, 0});
}

void Peers::cool(const Stream* stream) {
  std::erase_if(hot_, [stream](const Hot& each) { return each.stream == stream; });
}

}  // namespace tutti::transport::tcp
