// Transport and Link of the job segment: lanes (lane.h) for frames, single copy for gets and
// puts.
//
// Only lanes that were ever used are polled: a writer announces itself once in the reader's
// bitmap `senders`, which the reader compares with what it knows on every round. That is one
// line for up to 512 ranks, and it stays in the reader's cache. Peers that died are reported
// after the last frame they left in their lane.
#include "transport/shm/shm.h"

#include <bit>
#include <map>

#include "base/check.h"
#include "base/true_while.h"
#include "transport/gone_scan.h"
#include "transport/host_region.h"
#include "transport/shm/lane.h"
#include "transport/shm/single_copy.h"
#include "transport/wake.h"
#include "wireup/wireup.h"

namespace tutti::transport::shm {
namespace {

// Frames taken from one lane before the others are looked at.
constexpr int kBatch = 32;
constexpr std::size_t kGetFrom = std::size_t{64} << 10;

std::uint32_t local_of(const wireup::Wireup& wireup) {
  return static_cast<std::uint32_t>(wireup.local_rank());
}

class ShmLink final : public Link {
 public:
  ShmLink(const wireup::Wireup& wireup, SingleCopy& single_copy, Cells& cells, std::uint32_t to)
      : segment_(wireup.segment()),
        single_copy_(single_copy),
        writer_(segment_.lane(local_of(wireup), to), LaneGeometry::of(segment_.layout()), &cells),
        peer_(segment_.local(to)),
        to_(to),
        fence_(needs_fence(segment_.local(local_of(wireup)))),
        word_(local_of(wireup) / 64),
        bit_(std::uint64_t{1} << local_of(wireup) % 64) {}

  bool try_post(const FrameView& frame) override {
    if (!writer_.try_write(frame)) return false;
    if (!announced_) announce();
    wake_if_asleep(segment_, to_, peer_, fence_);
    if (frame.done != nullptr) frame.done->fire(frame.done, true);
    return true;
  }

  Result<std::unique_ptr<Remote>> import(BlobView key) override { return HostRemote::import(key); }

  Result<void> get(Remote& from, std::uint64_t offset, const types::Buffer& into,
                   Done* done) override {
    const Memory memory = host_memory_of(into);
    TUTTI_TRY(at, static_cast<HostRemote&>(from).part(offset, memory.bytes));
    TUTTI_DO(single_copy_.read(to_, at, memory));
    if (done != nullptr) done->fire(done, true);
    return {};
  }

  // The kernel writes, not in one step: so there are no atomics.
  Result<void> put(Remote& to, std::uint64_t offset, const types::Buffer& from,
                   Done* done) override {
    const Memory memory = host_memory_of(from);
    TUTTI_TRY(at, static_cast<HostRemote&>(to).part(offset, memory.bytes));
    TUTTI_DO(single_copy_.write(to_, at, memory));
    if (done != nullptr) done->fire(done, true);
    return {};
  }

 private:
  void announce() {
    // release: the lane is in use before the bit says so; pairs with find_lanes.
    peer_.senders[word_].fetch_or(bit_, std::memory_order_release);
    announced_ = true;
  }

  const wireup::Segment& segment_;
  SingleCopy& single_copy_;
  Writer writer_;
  wireup::LocalRecord& peer_;
  std::uint32_t to_;
  bool fence_;
  bool announced_ = false;
  std::size_t word_;
  std::uint64_t bit_;
};

class ShmTransport final : public Transport, public Lender {
 public:
  ShmTransport(const Surroundings& around, bool oversubscribed)
      : wireup_(*around.wireup),
        sink_(*around.sink),
        segment_(wireup_.segment()),
        own_(segment_.local(local_of(wireup_))),
        known_((static_cast<std::size_t>(wireup_.local_size()) + 63) / 64),
        gone_(wireup_),
        single_copy_(segment_, local_of(wireup_), around.knobs->text("TUTTI_SINGLE_COPY") != "off"),
        gets_are_judged_(around.knobs->text("TUTTI_SINGLE_COPY") == "auto" && !oversubscribed) {
    register_barriers(own_);
  }

  const char* name() const override { return "shm"; }

  Traits traits(const Peer& peer) const override {
    Traits traits;
    traits.reaches = peer.same_host;
    traits.why = peer.same_host ? "same host" : "another host";
    if (!peer.same_host) return traits;
    traits.kind = "shm";
    traits.max_frame = LaneGeometry::of(segment_.layout()).max_frame();
    traits.eager_bytes = std::min<std::size_t>(traits.max_frame, 64 << 10);
    traits.gets = single_copy_.works(static_cast<std::uint32_t>(peer.local_rank));
    traits.puts = traits.gets;
    traits.get_from = traits.gets ? kGetFrom : kNever;
    traits.gets_are_judged = gets_are_judged_;
    traits.why +=
        traits.gets ? ", single copy works" : ", no single copy: " + single_copy_.reason();
    return traits;
  }

  Blob address() const override { return {}; }

  Result<std::unique_ptr<Link>> connect(const Peer& peer, BlobView) override {
    TUTTI_CHECK(peer.same_host, "shm does not reach rank " + std::to_string(peer.rank));
    return std::unique_ptr<Link>(std::make_unique<ShmLink>(
        wireup_, single_copy_, cells_with(static_cast<std::uint32_t>(peer.local_rank)),
        static_cast<std::uint32_t>(peer.local_rank)));
  }

  Result<std::unique_ptr<Region>> expose(const Memory& memory) override {
    if (memory.kind != MemoryKind::host)
      return fail(Code::unsupported, "shm exposes memory of the host only");
    return std::unique_ptr<Region>(std::make_unique<HostRegion>(memory));
  }

  int progress() override {
    if (inside_) return 0;  // a callback came round: frames stay in order
    const TrueWhile until_end(inside_);
    find_lanes();
    int events = 0;
    for (Reader& reader : readers_)
      if (reader.has_frame()) events += drain(reader, kBatch);
    if (gone_.is_asked()) [[unlikely]]
      events += look_for_gone();
    return events;
  }

  int wait_fd() override { return -1; }
  void drop(int rank) override {
    for (Reader& reader : readers_)
      if (reader.from() == rank) reader.give_up();
  }
  void look_around() override { gone_.ask(); }

  // The rank whose lane it is of, and which of that lane's.
  void take_back(std::uint64_t number) override {
    const auto from = static_cast<int>(number >> 32);
    for (Reader& reader : readers_) {
      if (reader.from() != from) continue;
      reader.take_back(static_cast<std::uint32_t>(number));
      if (reader.take_starved()) wake_writer(from);
    }
  }

 private:
  int drain(Reader& reader, int limit) {
    int taken = 0;
    do {
      const Reader::Got got = reader.deliver(sink_);
      if (got != Reader::Got::frame) [[unlikely]] {
        if (got == Reader::Got::unbelieved) return break_off(reader.from());
        if (got == Reader::Got::part) ++taken;
        break;
      }
    } while (++taken < limit && reader.has_frame());
    if (reader.take_starved()) [[unlikely]]
      wake_writer(reader.from());
    return taken;
  }

  void wake_writer(int rank) {
    const auto local =
        static_cast<std::uint32_t>(segment_.place(static_cast<std::uint32_t>(rank)).local_rank);
    wake_if_asleep(segment_, local, segment_.local(local), needs_fence(own_));
  }

  void find_lanes() {
    for (std::size_t word = 0; word < known_.size(); ++word) {
      // acquire: pairs with the release in announce().
      const std::uint64_t senders = own_.senders[word].load(std::memory_order_acquire);
      if (senders != known_[word]) [[unlikely]]
        add_lanes(word, senders);
    }
  }

  [[gnu::noinline]] void add_lanes(std::size_t word, std::uint64_t senders) {
    readers_.reserve(readers_.size() +
                     static_cast<std::size_t>(std::popcount(senders & ~known_[word])));
    // Memory may run out; then they are added in a later round.
    for (std::uint64_t fresh = senders & ~known_[word]; fresh != 0; fresh &= fresh - 1)
      cells_with(static_cast<std::uint32_t>(word * 64) +
                 static_cast<std::uint32_t>(std::countr_zero(fresh)));
    for (std::uint64_t fresh = senders & ~known_[word]; fresh != 0; fresh &= fresh - 1) {
      const auto from = static_cast<std::uint32_t>(word * 64) +
                        static_cast<std::uint32_t>(std::countr_zero(fresh));
      readers_.emplace_back(segment_.lane(from, local_of(wireup_)),
                            LaneGeometry::of(segment_.layout()), segment_.rank_of(from), this,
                            &cells_with(from));
    }
    known_[word] = senders;
  }

  // The first of the two lies in the lane from the lower local rank to the higher.
  Cells& cells_with(std::uint32_t peer) {
    const std::uint32_t mine = local_of(wireup_);
    const std::size_t at = LaneGeometry::of(segment_.layout()).cell_at();
    const auto [low, high] = std::minmax(mine, peer);
    return cells_
        .try_emplace(peer, std::array{segment_.lane(low, high) + at, segment_.lane(high, low) + at},
                     mine == low ? 0U : 1U)
        .first->second;
  }

  int look_for_gone() {
    int found = 0;
    gone_.look([this](int rank) { return wireup_.host_of(rank) == wireup_.host(); },
               [this, &found](int rank) {
                 // It may have announced itself, sent and ended since this round began.
                 find_lanes();
                 bool has_lane = false;
                 for (Reader& reader : readers_) {
                   if (reader.from() != rank) continue;
                   has_lane = true;
                   while (reader.has_frame() && drain(reader, kBatch) > 0) {
                   }
                   reader.give_up();  // of a frame that is not whole, nothing comes any more
                 }
                 if (!has_lane)
                   sink_.on_peer_ended(rank, name(), gone_.error_for(rank));
                 else if (!gone_.is_reported(rank))
                   sink_.on_peer_gone(rank, gone_.error_for(rank));
                 ++found;
                 return true;
               });
    return found;
  }

  // It sent what the sink does not believe: its lane is not read any more.
  int break_off(int rank) {
    if (gone_.mark(rank)) sink_.on_peer_gone(rank, gone_.no_frame_from(rank));
    return 1;
  }

  wireup::Wireup& wireup_;
  Sink& sink_;
  const wireup::Segment& segment_;
  wireup::LocalRecord& own_;
  std::vector<std::uint64_t> known_;  // senders whose lanes are polled
  std::vector<Reader> readers_;
  std::map<std::uint32_t, Cells> cells_;  // by local rank
  GoneScan gone_;
  mutable SingleCopy single_copy_;  // remembers proofs
  // A single copy keeps one core busy where the lane's two copies keep two: where ranks share cores
  // it is faster. With a core for everyone that depends on the processor.
  const bool gets_are_judged_;
  bool inside_ = false;
};

}  // namespace

Result<std::unique_ptr<Transport>> open(const Surroundings& around) {
  const wireup::Wireup& wireup = *around.wireup;
  if (wireup.local_size() < 2) return fail(Code::other, "this rank is alone on its host");
  const wireup::SegmentFacts& facts = wireup.segment().header();
  return std::unique_ptr<Transport>(
      std::make_unique<ShmTransport>(around, facts.is_oversubscribed()));
}

}  // namespace tutti::transport::shm
