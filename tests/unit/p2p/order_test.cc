// The order of messages, as MPI 5.0, 3.5 has it, for any sizes, modes, wildcards and links.
//
// With one sender the outcome does not depend on timing: the n-th message goes to the oldest
// receive that accepts it among those left. With several it must be stable: no receive got a
// message while an earlier one of the same sender, which it accepts, went to a later receive.
#include <random>

#include "rounds.h"
#include "worlds.h"

using namespace tutti;
using namespace tutti::test;

namespace {

struct Sent {
  int from;
  int tag;
  std::uint32_t context;
  std::vector<std::byte> data;
  Pending* request = nullptr;
};

struct Wanted {
  int from;
  int tag;
  std::uint32_t context;
  std::vector<std::byte> data;
  Pending* request = nullptr;
  int got = -1;  // index of the message
  bool accepts(const Sent& sent) const {
    return context == sent.context && (from == kAnySource || from == sent.from) &&
           (tag == kAnyTag || tag == sent.tag);
  }
};

class Play {
 public:
  Play(int senders, unsigned seed, const FakeOptions& options)
      : worlds_(senders + 1, options, knobs_with({{"TUTTI_UNEXPECTED_BYTES", "20000"}})),
        random_(seed),
        senders_(senders) {}

  void run() {
    constexpr int kMessages = 150;
    for (int i = 0; i < kMessages; ++i) plan();
    std::size_t sent = 0;
    std::size_t posted = 0;
    while (sent < messages_.size() || posted < receives_.size()) {
      const int dice = draw(10);
      if (dice < 4 && sent < messages_.size()) post_send(messages_[sent++]);
      if (dice >= 4 && dice < 8 && posted < receives_.size()) post_recv(receives_[posted++]);
      if (dice >= 8) worlds_.rounds(draw(4));
    }
    const bool ended = worlds_.until([this] { return all_done(); });
    REQUIRE(ended);
    identify();
    check();
  }

 private:
  int draw(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }

  // A message and a receive that could take it; wildcards make them trade places.
  void plan() {
    Sent message;
    message.from = 1 + draw(senders_);
    message.tag = draw(3);
    message.context = static_cast<std::uint32_t>(1 + draw(2));
    const int kind = draw(10);
    const std::size_t bytes = 8 + static_cast<std::size_t>(kind < 6   ? draw(60)
                                                           : kind < 8 ? draw(3000)
                                                                      : draw(30000));
    message.data = pattern(bytes, messages_.size());
    const std::uint64_t number = messages_.size();
    std::memcpy(message.data.data(), &number, 8);
    Wanted receive;
    receive.context = message.context;
    // Wildcards of one kind per run keep every message receivable in the end.
    receive.from = wild_source_ ? kAnySource : message.from;
    receive.tag = wild_tag_ ? kAnyTag : message.tag;
    receive.data.resize(40000);
    messages_.push_back(std::move(message));
    receives_.push_back(std::move(receive));
  }

  void post_send(Sent& message) {
    const Envelope envelope{message.context, message.from, message.tag, 0};
    Endpoint& endpoint = worlds_[message.from];
    if (draw(2) == 0 && endpoint.try_send(0, envelope, message.data.data(), message.data.size()))
      return;
    message.request = endpoint.send(draw(4) == 0 ? Mode::synchronous : Mode::standard, 0, envelope,
                                    plain(message.data));
  }

  void post_recv(Wanted& receive) {
    const Envelope envelope{receive.context, receive.from, receive.tag, 0};
    if (draw(4) == 0) {
      Status status;
      if (p2p::KeptMessage* message = worlds_[0].take(receive.from, envelope, &status)) {
        receive.request = worlds_[0].recv_taken(message, plain(receive.data));
        return;
      }
    }
    receive.request = worlds_[0].recv(receive.from, envelope, plain(receive.data));
  }

  bool all_done() const {
    for (const Sent& each : messages_)
      if (each.request != nullptr && !each.request->done) return false;
    for (const Wanted& each : receives_)
      if (!each.request->done) return false;
    return true;
  }

  void identify() {
    for (Wanted& each : receives_) {
      const Status& status = each.request->status;
      REQUIRE(status.code == Code::ok);
      std::uint64_t number = 0;
      std::memcpy(&number, each.data.data(), 8);
      REQUIRE(number < messages_.size());
      const Sent& message = messages_[number];
      each.data.resize(static_cast<std::size_t>(status.bytes));
      REQUIRE(each.data == message.data);
      REQUIRE(status.source == message.from);
      REQUIRE(status.tag == message.tag);
      each.got = static_cast<int>(number);
    }
  }

  void check() const {
    std::vector<std::size_t> taker(messages_.size());
    for (std::size_t i = 0; i < receives_.size(); ++i)
      taker[static_cast<std::size_t>(receives_[i].got)] = i;
    for (std::size_t r = 0; r < receives_.size(); ++r) {
      const auto got = static_cast<std::size_t>(receives_[r].got);
      for (std::size_t earlier = 0; earlier < got; ++earlier)
        if (messages_[earlier].from == messages_[got].from &&
            receives_[r].accepts(messages_[earlier]))
          REQUIRE(taker[earlier] < r);
    }
  }

 public:
  bool wild_source_ = false;
  bool wild_tag_ = false;

 private:
  Worlds worlds_;
  std::mt19937 random_;
  int senders_;
  std::vector<Sent> messages_;
  std::vector<Wanted> receives_;
};

}  // namespace

TEST_CASE("messages of one sender match in the order they were sent", "[p2p][order]") {
  for (const unsigned seed : seeds(40)) {
    FakeOptions options;
    options.seed = seed;
    options.longest_delay = static_cast<int>(seed % 4);
    options.capacity = seed % 3 == 0 ? 3 : 64;
    options.refuse_percent = seed % 5 == 0 ? 40 : 0;
    options.gets = seed % 2 == 0;
    options.get_from = 8192;
    options.gets_are_judged = seed % 4 == 0;
    options.get_delay = static_cast<int>(seed % 3);
    options.get_fails = seed % 8 == 0;
    options.places = seed % 4 < 2;
    options.late_done = seed % 4 == 1;
    for (const int senders : {1, 3})
      for (const bool wild_source : {false, true})
        for (const bool wild_tag : {false, true}) {
          INFO("seed " << seed << " senders " << senders << " any source " << wild_source
                       << " any tag " << wild_tag);
          Play play(senders, seed, options);
          play.wild_source_ = wild_source;
          play.wild_tag_ = wild_tag;
          play.run();
        }
  }
}
