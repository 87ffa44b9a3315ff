// Nonsense for the frame handler of p2p: an endpoint with messages of every kind under way (eager
// and offered, granted, read, placed, kept, probed, partitioned, flat and with gaps) gets frames
// that are right, nearly right, or anything. Nothing is written outside a receive's own memory,
// whatever place() names lies inside one, and when the peers are lost every request ends.
#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>

#include "catch.h"
#include "p2p/core.h"
#include "room.h"
#include "stage.h"
#include "wireup/wireup.h"

using namespace tutti;       // NOLINT(google-build-using-namespace): a test
using namespace tutti::p2p;  // NOLINT(google-build-using-namespace): a test
using fuzz::Posted;
using fuzz::Room;
using fuzz::Stage;
using transport::FrameHeader;

namespace {

constexpr int kRanks = 3;                       // the endpoint is rank 0
constexpr std::size_t kIntroductionBytes = 16;  // of a partitioned message

class Scene {
 public:
  Scene(wireup::Wireup& wireup, types::Datatype& gaps, std::uint64_t seed)
      : random_(seed), gaps_(gaps) {
    const auto opener = [this](const transport::Surroundings&) {
      transport::Opened opened;
      opened.transports.push_back(std::make_unique<Stage>(random_, posted_));
      return opened;
    };
    auto made = Endpoint::open_over(wireup, Knobs::defaults(), opener);
    REQUIRE(made.has_value());
    endpoint_ = std::move(*made);
  }

  // What is wrong, or null.
  const char* play() {
    for (std::size_t steps = 20 + random_.below(100); steps > 0; --steps)
      if (const char* const wrong = step(); wrong != nullptr) return wrong;
    return end();
  }
  std::size_t believed() const { return believed_; }
  std::size_t refused() const { return refused_; }

 private:
  Core& core() { return endpoint_->core(); }
  int some_peer() { return 1 + static_cast<int>(random_.below(kRanks - 1)); }
  std::uint32_t some_context() { return 2 * static_cast<std::uint32_t>(random_.below(2)); }

  const char* step() {
    switch (random_.below(12)) {
      case 0:
      case 1:
        receive();
        break;
      case 2:
        send();
        break;
      case 3:
        probe();
        break;
      case 4:
        if (!requests_.empty()) endpoint_->cancel(requests_[random_.below(requests_.size())]);
        break;
      case 5:
        partitioned();
        break;
      case 6:
      case 7:
        endpoint_->progress();
        break;
      default:
        return bring(some_peer(), random_.below(3) == 0 ? any_frame() : likely_frame());
    }
    return nullptr;
  }

  types::Buffer memory_for_message() {
    constexpr std::size_t sizes[] = {0, 1, 8, 100, 512, 513, 2999, 3000, 9000};
    const std::size_t bytes = sizes[random_.below(std::size(sizes))];
    if (random_.below(3) != 0) {
      rooms_.push_back(std::make_unique<Room>(bytes));
      return types::Buffer::plain(rooms_.back()->begin(), static_cast<types::Count>(bytes));
    }
    const std::size_t count = bytes / static_cast<std::size_t>(gaps_.size());
    rooms_.push_back(std::make_unique<Room>(count * static_cast<std::size_t>(gaps_.extent())));
    return types::Buffer::whole(rooms_.back()->begin(), static_cast<types::Count>(count), gaps_);
  }

  void receive() {
    const bool from_any = random_.below(3) == 0;
    const int from = some_peer();
    Envelope envelope{some_context(), from_any ? kAnySource : from,
                      random_.below(4) == 0 ? kAnyTag : static_cast<int>(random_.below(3)), 0};
    requests_.push_back(
        endpoint_->recv(from_any ? kAnySource : from, envelope, memory_for_message()));
    receives_.push_back(requests_.back());
  }
  void send() {
    const auto mode = static_cast<Mode>(random_.below(2));
    requests_.push_back(endpoint_->send(mode, some_peer(),
                                        {some_context(), 0, static_cast<int>(random_.below(3)), 0},
                                        memory_for_message()));
  }
  void probe() {
    Status status;
    const int from = some_peer();
    auto* const taken = endpoint_->take(from, {some_context(), from, kAnyTag, 0}, &status);
    if (taken == nullptr) return;
    requests_.push_back(endpoint_->recv_taken(taken, memory_for_message()));
    receives_.push_back(requests_.back());
  }
  void partitioned() {
    if (sides_.size() == 4) return;
    const int peer = some_peer();
    rooms_.push_back(std::make_unique<Room>(64));
    const Partitioned::Shape shape{static_cast<int>(random_.below(5)),
                                   types::Buffer::plain(rooms_.back()->begin(), 64)};
    const Envelope envelope{4, peer, 1, 0};
    const bool sends = random_.below(2) == 0;
    Partitioned* const side = sends ? endpoint_->send_partitioned(peer, {4, 0, 1, 0}, shape)
                                    : endpoint_->recv_partitioned(peer, envelope, shape);
    side->start([](void* ended, const Status&) { ++*static_cast<int*>(ended); }, &ended_);
    if (sends)
      for (int i = 0; i < shape.partitions; ++i) side->ready({i, 1});
    sides_.push_back(side);
  }

  std::uint64_t odd_number(std::uint64_t near) {
    const std::uint64_t small = random_.below(3);
    switch (random_.below(8)) {
      case 0:
        return small;
      case 1:
        return near + small - 1;
      case 2:
        return std::uint64_t{0} - 4096 * small - 1024 * random_.below(5);
      case 3:
        return (std::uint64_t{1} << 63) + small - 1;
      case 4:
        return std::uint64_t{1} << random_.below(64);
      case 5:
        return 1024 * random_.below(10);
      default:
        return near;
    }
  }

  struct Frame {
    FrameHeader header;
    std::size_t bytes = 0;
    int from = 0;  // 0: anybody
  };

  FrameHeader message_header() {
    FrameHeader header;
    header.context = random_.below(5) == 0 ? 4 | 0xc000'0000U : some_context();
    header.tag = static_cast<int>(random_.below(3));
    header.source = static_cast<std::uint32_t>(some_peer());
    header.cookie = cookie_of(0, static_cast<std::uint32_t>(1 + random_.below(40)));
    return header;
  }

  Frame any_frame() {
    Frame frame{message_header(), random_.below(1025)};
    frame.header.kind = static_cast<std::uint8_t>(random_.below(12));
    frame.header.flags = static_cast<std::uint8_t>(random_.below(16));
    frame.header.aux = static_cast<std::uint16_t>(random_.below(3) == 0 ? random_.next() : 0);
    frame.header.length = odd_number(frame.bytes);
    if (random_.below(2) == 0)
      frame.header.cookie = cookie_of(static_cast<std::uint32_t>(odd_number(random_.below(70))),
                                      static_cast<std::uint32_t>(random_.below(70)));
    if (random_.below(8) == 0) frame.header.source = static_cast<std::uint32_t>(random_.next());
    if (random_.below(16) == 0) frame.header.tag = static_cast<int>(random_.next());
    return frame;
  }

  // One that a peer could send now, at times a little wrong.
  Frame likely_frame() {
    Frame frame = posted_.empty() || random_.below(2) == 0 ? fresh() : answer();
    if (random_.below(4) == 0) frame.header.length = odd_number(frame.header.length);
    if (random_.below(10) == 0) frame.bytes = random_.below(1025);
    return frame;
  }
  Frame fresh() {
    Frame frame{message_header(), random_.below(3) == 0 ? random_.below(1025) : random_.below(40)};
    const bool offers = random_.below(2) == 0;
    frame.header.kind = static_cast<std::uint8_t>(offers ? Kind::offer : Kind::eager);
    frame.header.length = offers ? random_.below(10'000) : frame.bytes;
    if (offers) frame.bytes = random_.below(2) == 0 ? 0 : random_.below(2 * kFreeKeyBytes);
    if (offers && random_.below(20) == 0) frame.bytes = kMostKeyBytes - 2 + random_.below(4);
    if (!offers && random_.below(4) == 0) frame.header.flags = kWantsTaken;
    if (offers && random_.below(3) == 0) frame.header.flags = kUntilKept;
    if (!offers && frame.header.context > 4) {
      frame.bytes = kIntroductionBytes;
      frame.header.length = frame.bytes;
    }
    return frame;
  }
  Frame answer() {
    const Posted& about =
        posted_[posted_.size() - 1 - random_.below(std::min<std::size_t>(posted_.size(), 12))];
    Frame frame;
    frame.from = about.to;
    const std::uint32_t theirs = high_of(about.header.cookie);
    switch (static_cast<Kind>(about.header.kind)) {
      case Kind::grant: {  // data, where it goes on
        std::uint64_t& at = moved_[theirs % moved_.size()];
        if (random_.below(4) == 0) at = 0;
        frame.header.kind = static_cast<std::uint8_t>(Kind::data);
        frame.header.cookie = theirs;
        frame.header.length = at;
        if (random_.below(3) == 0) {  // as by a bulk link: in any order
          frame.header.flags = kWantsTaken;
          frame.header.length = random_.below(std::max<std::uint64_t>(about.header.length, 1));
        }
        const std::uint64_t left =
            about.header.length - std::min(frame.header.length, about.header.length);
        frame.bytes = static_cast<std::size_t>(std::min<std::uint64_t>(left, 1024));
        at += frame.bytes;
        break;
      }
      case Kind::offer:
      case Kind::eager: {
        constexpr Kind kinds[] = {Kind::grant,   Kind::taken,    Kind::recalled, Kind::cut,
                                  Kind::emptied, Kind::refilled, Kind::awaited,  Kind::ready};
        frame.header.kind = static_cast<std::uint8_t>(kinds[random_.below(std::size(kinds))]);
        if (random_.below(2) == 0)  // of grants: messages that need not be offered
          frame.header.tag = static_cast<std::int32_t>(random_.next());
        frame.header.length = random_.below(2) == 0 ? about.header.length : random_.below(9000);
        frame.header.cookie = cookie_of(theirs, static_cast<std::uint32_t>(random_.below(70)));
        break;
      }
      default:
        frame.header.kind =
            static_cast<std::uint8_t>(random_.below(20) == 0 ? Kind::goodbye : Kind::recall);
        frame.header.cookie = cookie_of(static_cast<std::uint32_t>(1 + random_.below(40)),
                                        static_cast<std::uint32_t>(random_.below(2)));
    }
    return frame;
  }

  // How a partitioned message is cut: as one may be, or as none can.
  void introduce(std::byte* into) {
    const auto stream = static_cast<std::uint32_t>(random_.below(4));
    const std::uint64_t each = odd_number(random_.below(70));
    std::int32_t partitions = static_cast<std::int32_t>(random_.below(6));
    if (each >= std::uint64_t{1} << 40 && random_.below(2) == 0)
      partitions = static_cast<std::int32_t>(random_.next());
    std::memcpy(into, &stream, 4);
    std::memcpy(into + 4, &partitions, 4);
    std::memcpy(into + 8, &each, 8);
  }

  const char* bring(int anybody, const Frame& frame) {
    const int from = frame.from != 0 ? frame.from : anybody;
    brings_ |= (frame.header.flags & kUntilKept) != 0;
    // Of its own size, so that a sanitizer sees who reads beyond it.
    const std::unique_ptr<std::byte[]> own(new std::byte[frame.bytes]);
    std::memset(own.get(), 1, frame.bytes);
    std::byte* payload = own.get();
    if (frame.bytes == kIntroductionBytes && random_.below(2) == 0) introduce(payload);
    if (frame.bytes > 0 && random_.below(2) == 0)
      if (std::byte* const place = core().place(from, frame.header, frame.bytes);
          place != nullptr) {
        // What introduces a partitioned message, or is brought early, goes to the endpoint's
        // memory.
        const bool is_ours = brings_ || (!sides_.empty() && frame.bytes <= kIntroductionBytes);
        if (!is_ours && std::none_of(rooms_.begin(), rooms_.end(), [&](const auto& room) {
              return room->holds(place, frame.bytes);
            }))
          return "a place outside every receive";
        std::memcpy(place, payload, frame.bytes);
        payload = place;
      }
    const bool is_believed = core().on_frame(from, frame.header, {payload, frame.bytes});
    ++(is_believed ? believed_ : refused_);
    if (!is_believed && payload != own.get()) return "it was placed, and then not believed";
    return nullptr;
  }

  const char* end() {
    for (Partitioned* side : sides_) side->release();
    for (int peer = 1; peer < kRanks; ++peer)
      core().on_peer_gone(peer, Error{Code::proc_aborted, "the scene is over"});
    for (Pending* each : receives_) endpoint_->cancel(each);
    for (int round = 0; round < 1000; ++round) {
      endpoint_->progress();
      if (std::all_of(requests_.begin(), requests_.end(), [](Pending* r) { return r->done; }))
        break;
    }
    for (Pending* each : requests_)
      if (!each->done) return "a request that never ends";
    for (Pending* each : receives_)
      if (each->status.bytes < 0 || (each->status.source & ~as_job_rank(0)) >= kRanks ||
          each->status.bytes > 9000)
        return "a status of what cannot be";
    for (const auto& room : rooms_)
      if (!room->is_intact()) return "memory beside a message was written to";
    return nullptr;
  }

  fuzz::Random random_;
  types::Datatype& gaps_;
  std::vector<Posted> posted_;
  std::vector<std::unique_ptr<Room>> rooms_;
  std::unique_ptr<Endpoint> endpoint_;
  std::vector<Pending*> requests_, receives_;
  std::vector<Partitioned*> sides_;
  std::array<std::uint64_t, 64> moved_{};
  int ended_ = 0;
  bool brings_ = false;  // some offer may be brought before its receive
  std::size_t believed_ = 0, refused_ = 0;
};

}  // namespace

TEST_CASE("no frame writes where it may not, or leaves a request that never ends",
          "[fuzz][frames]") {
  const auto wireups = wireup::in_threads(std::vector<int>(kRanks, 0));
  types::Datatype* const word = types::predefined_type(0x250);  // MPI_INT32_T
  REQUIRE(word != nullptr);
  auto gaps = types::make_vector(2, 1, 3, *word);
  REQUIRE(gaps.has_value());
  (*gaps)->commit();
  fuzz::Rounds rounds("frames", 30000);
  std::size_t believed = 0, refused = 0;
  while (rounds.more()) {
    INFO("round " << rounds.number());
    Scene scene(*wireups[0], **gaps, rounds.number());
    const char* const wrong = scene.play();
    INFO((wrong == nullptr ? "" : wrong));
    REQUIRE(wrong == nullptr);
    believed += scene.believed();
    refused += scene.refused();
  }
  // Both sides of every check are reached.
  CHECK(believed > refused);
  CHECK(refused > believed / 20);
}
