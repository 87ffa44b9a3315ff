// The fake transport: one queue per ordered pair, one lock, one random number generator.
#include "fake_transport.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "fake_net.h"

namespace tutti::test {

using namespace transport;

namespace {

class FakeTransport final : public Transport {
 public:
  FakeTransport(FakeNet::State& net, int rank, Sink* sink, std::vector<int> numbers)
      : net_(net),
        rank_(rank),
        sink_(*sink),
        numbers_(std::move(numbers)),
        told_(static_cast<std::size_t>(net.ranks)) {}

  const char* name() const override { return net_.options.name.c_str(); }

  Traits traits(const Peer&) const override {
    Traits traits;
    traits.reaches = true;
    traits.why = "a test";
    traits.kind = "tcp", traits.is_rail = net_.options.is_rail;
    traits.bulk_from = net_.options.bulk_from;
    traits.kinds = net_.options.kinds;
    traits.max_frame = net_.options.max_frame;
    traits.eager_bytes = net_.options.eager_bytes;
    traits.gets = net_.options.gets;
    traits.puts = traits.atomics = net_.options.puts;
    traits.get_from = net_.options.get_from;
    traits.gets_are_judged = net_.options.gets_are_judged;
    return traits;
  }

  Blob address() const override { return Blob(1); }
  Result<std::unique_ptr<Link>> connect(const Peer& peer, BlobView address) override;
  int progress() override;
  int wait_fd() override { return -1; }
  void drop(int number) override;

  FakeNet::State& net() { return net_; }
  int rank() const { return rank_; }
  FakeAccess& access() { return access_; }
  Result<std::unique_ptr<Region>> expose(const Memory& memory) override {
    return expose_fake(net_.memory, memory);
  }

 private:
  struct Placing {
    Flying frame;
    Memory into;
  };
  bool is_bulk() const { return net_.options.bulk_from != kNever; }
  bool take(int from, bool everything, Flying* taken);
  int number_of(int from) const {
    return numbers_.empty() ? from : numbers_[static_cast<std::size_t>(from)];
  }
  int place_of(int number) const {
    int at = 0;
    while (number_of(at) != number) ++at;
    return at;
  }
  int deliver(int from, bool everything);
  int finish_placing(int from);
  Memory place(int from, const Flying& frame);
  int tell_of_cut();
  void hand_over(int from, const FrameHeader& header, std::span<std::byte> payload);
  int tell_of_lost();
  int tell_of_ended();
  void drop_frames_to(int peer);
  int finish_own();

  FakeNet::State& net_;
  int rank_;
  Sink& sink_;
  std::vector<int> numbers_;        // empty: everybody's are the net's
  std::vector<bool> told_;          // of whom nothing more is delivered
  std::map<int, Placing> placing_;  // by peer
  FakeAccess access_{net_.memory};
  FakeLender lender_{net_.loans, net_.options.lends};
  bool inside_ = false;
};

class FakeLink final : public FakeAccessLink {
 public:
  FakeLink(FakeTransport& owner, int to) : FakeAccessLink(owner.access()), owner_(owner), to_(to) {}

  bool try_post(const FrameView& frame) override {
    FakeNet::State& net = owner_.net();
    Done* done_now = nullptr;
    bool is_good = true;
    {
      const std::lock_guard lock(net.mutex);
      auto& queue = net.between(owner_.rank(), to_);
      if (net.lost[static_cast<std::size_t>(to_)] || queue.size() >= net.options.capacity ||
          net.draw(99) < net.options.refuse_percent)
        return false;
      if (net.lost_by(owner_.rank()) == to_) return false;
      Flying flying;
      flying.header = *frame.header;
      flying.size = frame.bytes;
      flying.rounds = net.draw(net.options.longest_delay);
      if (frame.kind != MemoryKind::host) {
        flying.bytes.resize(frame.bytes);
        is_good = net.copy(flying.bytes.data(), net.options.seen(frame.payload),
                           {nullptr, frame.bytes, frame.kind, frame.device},
                           {owner_.rank(), to_,
                            "a copy out of GPU " + std::to_string(frame.device) +
                                " has failed: the test says so"});
        done_now = frame.done;
      } else if (frame.done != nullptr && net.options.late_done) {
        flying.pinned = frame.payload;
        flying.done = frame.done;
      } else {
        flying.bytes.assign(frame.payload, frame.payload + frame.bytes);
        done_now = frame.done;
      }
      net.count_frame(frame.is_piece);
      if (is_good) queue.push_back(std::move(flying));
    }
    if (done_now != nullptr) done_now->fire(done_now, is_good);
    return true;
  }
  MemoryKinds kinds() const override { return owner_.net().options.moves; }

 private:
  FakeTransport& owner_;
  int to_;
};

Result<std::unique_ptr<Link>> FakeTransport::connect(const Peer& peer, BlobView) {
  if (!net_.options.is_reachable) return fail(Code::other, "the fake transport does not connect");
  return std::unique_ptr<Link>(std::make_unique<FakeLink>(*this, place_of(peer.rank)));
}

int FakeTransport::progress() {
  if (inside_) return 0;
  inside_ = true;
  int events = finish_own();
  // Another peer comes first every time: peers overtake each other.
  int first = 0;
  {
    const std::lock_guard lock(net_.mutex);
    first = net_.draw(net_.ranks - 1);
  }
  for (int i = 0; i < net_.ranks; ++i) {
    const int from = (first + i) % net_.ranks;
    if (!told_[static_cast<std::size_t>(from)]) events += deliver(from, false);
  }
  events += tell_of_lost();
  inside_ = false;
  return events;
}

// Fires what became free on this side: the other side only notes it.
int FakeTransport::finish_own() {
  std::vector<Done*> ready;
  {
    const std::lock_guard lock(net_.mutex);
    ready.swap(net_.finished[static_cast<std::size_t>(rank_)]);
  }
  for (Done* done : ready) done->fire(done, true);
  return static_cast<int>(ready.size()) + access_.progress();
}

// The frame whose turn it is, out of the queue; false: none.
bool FakeTransport::take(int from, bool everything, Flying* taken) {
  const std::lock_guard lock(net_.mutex);
  auto& queue = net_.between(from, rank_);
  if (queue.empty() || net_.lost_by(rank_) == from) return false;
  std::size_t at = 0;
  if (is_bulk()) at = static_cast<std::size_t>(net_.draw(static_cast<int>(queue.size()) - 1));
  if (!everything && queue[at].rounds-- > 0) return false;
  if (at > 0) ++net_.overtaken;
  *taken = std::move(queue[at]);
  queue.erase(queue.begin() + static_cast<std::ptrdiff_t>(at));
  if (taken->pinned != nullptr) taken->bytes.assign(taken->pinned, taken->pinned + taken->size);
  if (taken->done != nullptr) net_.finished[static_cast<std::size_t>(from)].push_back(taken->done);
  return true;
}

int FakeTransport::deliver(int from, bool everything) {
  int events = finish_placing(from);
  Flying flying;
  while (placing_.count(from) == 0 && take(from, everything, &flying)) {
    ++events;
    if (lender_.delivers(sink_, number_of(from), flying)) continue;
    std::byte* payload = flying.bytes.data();
    const Memory placed = place(from, flying);
    if (placed.data != nullptr) {
      if (is_bulk()) std::memset(net_.open(placed), 0xee, flying.size);
      placing_[from] = {std::move(flying), placed};
      events += is_bulk() ? 0 : finish_placing(from);
    } else {
      hand_over(from, flying.header, {payload, flying.size});
    }
  }
  return events;
}

// The rest of what place() gave an address for is read, in a later round where this is a bulk link.
int FakeTransport::finish_placing(int from) {
  const auto found = placing_.find(from);
  if (found == placing_.end()) return 0;
  const Placing placing = std::move(found->second);
  placing_.erase(found);
  const Memory& into = placing.into;
  {
    const std::lock_guard lock(net_.mutex);
    const std::string text =
        "a copy into GPU " + std::to_string(into.device) + " has failed: the test says so";
    if (!net_.copy(net_.open(into), placing.frame.bytes.data(), into, {from, rank_, text}))
      return 1;
  }
  hand_over(from, placing.frame.header, {static_cast<std::byte*>(into.data), into.bytes});
  return 1;
}

Memory FakeTransport::place(int from, const Flying& frame) {
  if (!net_.options.places || frame.size < kLongFrame) return {};
  if (net_.options.moves == kinds_of(MemoryKind::host))
    return {sink_.place(number_of(from), frame.header, frame.size), frame.size};
  return sink_.place_any(number_of(from), frame.header, frame.size);
}

void FakeTransport::hand_over(int from, const FrameHeader& header, std::span<std::byte> payload) {
  TUTTI_CHECK(sink_.on_frame(number_of(from), header, payload),
              "no test posts frames that nobody sends");
}

// The others of this test may not know yet, and go on sending.
void FakeTransport::drop(int number) {
  const int peer = place_of(number);
  told_[static_cast<std::size_t>(peer)] = true;
  placing_.erase(peer);
  drop_frames_to(peer);
}

// What was on its way to a lost peer arrives nowhere: pinned payloads are given back as failed.
void FakeTransport::drop_frames_to(int peer) {
  std::deque<Flying> dropped;
  {
    const std::lock_guard lock(net_.mutex);
    dropped.swap(net_.between(rank_, peer));
  }
  for (Flying& flying : dropped)
    if (flying.done != nullptr) flying.done->fire(flying.done, false);
}

int FakeTransport::tell_of_ended() {
  const std::lock_guard lock(net_.mutex);
  const int peer = std::exchange(net_.ended[static_cast<std::size_t>(rank_)], -1);
  if (peer < 0 || peer == rank_) return 0;
  sink_.on_peer_ended(number_of(peer), name(), Error{Code::proc_aborted, "the test says so"});
  return 1;
}

int FakeTransport::tell_of_cut() {
  Error why{Code::proc_aborted, ""};
  int other = -1;
  {
    const std::lock_guard lock(net_.mutex);
    other = net_.lost_by(rank_);
    why.text = "rank " + std::to_string(other) + " lost its link: " + net_.cut.text;
  }
  if (other < 0 || told_[static_cast<std::size_t>(other)]) return 0;
  told_[static_cast<std::size_t>(other)] = true;
  drop_frames_to(other);
  sink_.on_peer_gone(number_of(other), why);
  return 1;
}

int FakeTransport::tell_of_lost() {
  int events = tell_of_ended() + tell_of_cut();
  for (int peer = 0; peer < net_.ranks; ++peer) {
    const auto at = static_cast<std::size_t>(peer);
    {
      const std::lock_guard lock(net_.mutex);
      if (!net_.lost[at] || told_[at] || peer == rank_) continue;
    }
    while (deliver(peer, true) > 0) {
    }
    told_[at] = true;
    drop_frames_to(peer);
    sink_.on_peer_gone(number_of(peer), Error{Code::proc_aborted, "rank " + std::to_string(peer) +
                                                                      " was lost by the test"});
    ++events;
  }
  return events;
}

}  // namespace

FakeNet::FakeNet(int ranks, const FakeOptions& options)
    : state_(std::make_unique<State>(ranks, options)) {}
FakeNet::~FakeNet() = default;

std::unique_ptr<Transport> FakeNet::open(int rank, Sink* sink, std::vector<int> numbers) {
  return std::make_unique<FakeTransport>(*state_, rank, sink, std::move(numbers));
}

void FakeNet::lose(int rank) {
  const std::lock_guard lock(state_->mutex);
  state_->lost[static_cast<std::size_t>(rank)] = true;
}

void FakeNet::tell_ended(int rank) {
  const std::lock_guard lock(state_->mutex);
  std::fill(state_->ended.begin(), state_->ended.end(), rank);
}

std::uint64_t FakeNet::frames(bool only_pieces) const {
  const std::lock_guard lock(state_->mutex);
  return only_pieces ? state_->pieces : state_->frames;
}
std::uint64_t FakeNet::overtaken() const {
  const std::lock_guard lock(state_->mutex);
  return state_->overtaken;
}
const FakeLoans& FakeNet::lent() const {
  return state_->loans;
}

int FakeNet::regions() const {
  const std::lock_guard lock(state_->memory.mutex);
  return static_cast<int>(state_->memory.regions.size());
}
int FakeNet::remotes() const {
  return state_->memory.remotes;
}
std::uint64_t FakeNet::gets() const {
  return state_->memory.gets;
}
std::uint64_t FakeNet::copies() const {
  const std::lock_guard lock(state_->mutex);
  return state_->copies;
}

}  // namespace tutti::test
