// Partitioned messages (MPI 5.0, 4), made of messages.
//
//   sender                                receiver
//   made:  introduction ---------------->  made: a receive for it, in a context of its own
//          (stream, partitions, bytes)
//   ready(k): message, tag k ----------->  started: a receive for each of the *sender's*
//             in the stream's context      partitions, straight into its place
//
// So a partition leaves as soon as it is ready and lands where it belongs without a copy,
// whatever the two sides' partitions are; the receiver counts, for each partition of its own,
// how many of the sender's it still lacks. Rounds keep apart by the order of messages.
#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "p2p/partitioned_half.h"

namespace tutti::p2p {
namespace {

using types::Count;

struct Introduction {
  std::uint32_t stream = 0;
  int partitions = 0;
  Count partition_bytes = 0;
};

constexpr std::uint32_t kStreamNumbers = kMeetings - kStreams;
constexpr int kMostPosted = 1 << 14;  // receives of one partitioned message at a time

// Division, rounded up.
constexpr Count up(Count bytes, Count size) {
  return bytes / size + (bytes % size != 0 ? 1 : 0);  // bytes may be the largest there are
}

Envelope introducing(Envelope envelope) {
  envelope.context |= kMeetings;
  return envelope;
}

class Sender final : public PartitionedHalf {
 public:
  Sender(Core& core, int peer, const Envelope& envelope, const Shape& shape, std::uint32_t stream)
      : PartitionedHalf(core, peer, envelope.context, shape), stream_(stream) {
    is_ready_.resize(static_cast<std::size_t>(shape.partitions));
  }

  void introduce(const Envelope& envelope) {
    introduction_ = {stream_, shape_.partitions, partition_bytes()};
    follow<Sender, &Sender::introduced>(
        core_.send(Mode::standard, peer_, introducing(envelope),
                   types::Buffer::plain(&introduction_, sizeof introduction_)));
  }

  void start(Done on_done, void* owner) override {
    begin(on_done, owner);
    std::fill(is_ready_.begin(), is_ready_.end(), false);
    left_ = shape_.partitions;
    if (left_ == 0) end();
  }

  // All or none. What the caller gave the message's device before comes first.
  Result<void> ready(const Which& partitions) override {
    types::Device* const device = core_.devices().begin(shape_.message.device);
    TUTTI_DO(check_waits(device));
    for (int i = 0; i < partitions.count; ++i) {
      if (is_ready(partitions[i])) {
        for (int marked = 0; marked < i; ++marked) is_ready(partitions[marked]) = false;
        return fail(Code::arg,
                    "partition " + std::to_string(partitions[i]) + " was made ready before");
      }
      is_ready(partitions[i]) = true;
    }
    for (int i = 0; i < partitions.count; ++i) send(partitions[i], device);
    return {};
  }
  bool arrived(int) override { return false; }
  void cancel(Code code) override { cancel_stream(stream_, core_.wireup().rank(), code); }

 private:
  friend class PartitionedHalf;
  std::vector<bool>::reference is_ready(int partition) {
    return is_ready_[static_cast<std::size_t>(partition)];
  }
  void send(int partition, types::Device* device) {
    if (const Code code = why_cancelled(); code != Code::ok)
      return left({kAnySource, kAnyTag, code});
    types::Buffer part = shape_.message.part(partition * partition_bytes(), partition_bytes());
    part.device = device;
    const Envelope envelope{kStreams | stream_, core_.wireup().rank(), partition, 0};
    if (part.is_contiguous() &&
        core_.try_send(peer_, envelope, part.at(), static_cast<std::size_t>(part.bytes)))
      left({});
    else
      follow<Sender, &Sender::left>(core_.send(Mode::standard, peer_, envelope, part));
  }
  void introduced(const Status&) {}
  void left(const Status& part) {
    note(part);
    if (--left_ == 0) end();
  }

  const std::uint32_t stream_;
  Introduction introduction_;
  std::vector<bool> is_ready_;
  int left_ = 0;
};

class Receiver final : public PartitionedHalf {
 public:
  Receiver(Core& core, int peer, const Envelope& envelope, const Shape& shape)
      : PartitionedHalf(core, peer, envelope.context, shape),
        source_(envelope.source),
        tag_(envelope.tag) {
    lacks_.resize(static_cast<std::size_t>(shape.partitions));
  }

  void meet(const Envelope& envelope) {
    follow<Receiver, &Receiver::met>(core_.recv(
        peer_, introducing(envelope), types::Buffer::plain(&introduction_, sizeof introduction_)));
  }

  void start(Done on_done, void* owner) override {
    begin(on_done, owner);
    status_.source = source_;
    status_.tag = tag_;
    is_waiting_ = !has_met_;
    std::fill(lacks_.begin(), lacks_.end(), 1);  // of whatever is to come
    if (has_met_) expect();
  }

  Result<void> ready(const Which&) override { return {}; }
  bool arrived(int partition) override { return lacks_[static_cast<std::size_t>(partition)] == 0; }
  void cancel(Code code) override {
    if (!has_met_ || failure_ != Code::ok) return;  // the meeting ends, or went wrong
    failure_ = code;
    cancel_stream(introduction_.stream, peer_, code);
  }

 private:
  friend class PartitionedHalf;

  void met(const Status& status) {
    has_met_ = true;
    failure_ = status.code;
    if (failure_ == Code::ok && !is_sound(status)) failure_ = Code::intern;
    if (!is_waiting_) return;
    is_waiting_ = false;
    expect();
  }

  // Whether the sender said it all, and can have meant it: then nothing below overflows.
  bool is_sound(const Status& status) const {
    constexpr Count most = std::numeric_limits<Count>::max() / 4;
    const auto& [stream, partitions, each] = introduction_;
    return status.bytes == sizeof introduction_ && stream < kStreamNumbers && partitions >= 0 &&
           each >= 0 && (partitions == 0 || each <= most / partitions) && partition_bytes() <= most;
  }

  // Every one of the sender's partitions gets a receive.
  void expect() {
    if (failure_ != Code::ok) introduction_.partitions = 0;
    status_.code = failure_;
    count_lacks();
    left_ = introduction_.partitions;
    next_ = 0;
    if (left_ == 0) return end();
    post();
  }

  // Not all at once: how many they are is what the sender says, and of empty ones it can say any
  // number. Those that come before their receive are kept like other messages.
  void post() {
    if (is_posting_) return;  // from landed(), below
    is_posting_ = true;
    hold();
    const Count whole = shape_.message.bytes, each = introduction_.partition_bytes;
    while (next_ < introduction_.partitions && under_way_ < kMostPosted) {
      const int k = next_++;
      ++under_way_;
      const Count from = std::min(k * each, whole);
      const types::Buffer part = shape_.message.part(from, std::min(each, whole - from));
      const Envelope envelope{kStreams | introduction_.stream, peer_, k, 0};
      follow<Receiver, &Receiver::landed>(core_.recv(peer_, envelope, part));
    }
    is_posting_ = false;
    let_go();
  }

  // How the sides' partitions lie over each other: sizes of this side's and the sender's. In an
  // empty message they have their shares of nothing, so that they arrive one by one, too.
  std::pair<Count, Count> sizes() const {
    const Count mine = partition_bytes(), each = introduction_.partition_bytes;
    if (mine != 0 && each != 0) return {mine, each};
    return {introduction_.partitions, shape_.partitions};
  }

  // The partitions of this side that the sender's partition k has bytes of: [first, second).
  std::pair<Count, Count> touched(int k) const {
    const auto [mine, each] = sizes();
    const Count end = up(Count{k} * each + each, mine);
    return {k * each / mine, std::min<Count>(end, shape_.partitions)};
  }

  // For each partition how many of the sender's touch it: k does where k * each is before its end
  // and (k + 1) * each behind its begin.
  void count_lacks() {
    const auto [mine, each] = sizes();
    for (std::size_t i = 0; i < lacks_.size(); ++i) {
      const auto begin = static_cast<Count>(i) * mine;
      const Count end = std::min<Count>(up(begin + mine, each), introduction_.partitions);
      lacks_[i] = static_cast<int>(std::max<Count>(0, end - begin / each));
    }
  }

  void landed(const Status& part) {
    --under_way_;
    note(part);
    if (part.tag >= 0) {
      const auto [first, last] = touched(part.tag);
      for (Count each = first; each < last; ++each) --lacks_[static_cast<std::size_t>(each)];
    } else {  // lost with its sender, and so are those that nobody has asked for yet
      left_ -= introduction_.partitions - next_;
      next_ = introduction_.partitions;
    }
    if (--left_ == 0) return end();
    post();
  }

  const int source_, tag_;
  Introduction introduction_;
  std::vector<int> lacks_;  // for each partition: messages it waits for
  bool has_met_ = false;
  bool is_waiting_ = false;  // started before the sides met
  Code failure_ = Code::ok;
  int left_ = 0;                  // partitions of the sender that have not landed
  int next_ = 0, under_way_ = 0;  // the first without a receive; receives without a message
  bool is_posting_ = false;
};

}  // namespace

// Its meetings and the streams of those who met.
void Core::cancel_partitioned(std::uint32_t context, Code code) {
  std::vector<KeptMessage*> meetings;  // to which nobody has come
  for (MatchNode* node = channel_.unexpected.oldest(); node != nullptr; node = node->newer)
    if (node->context == (context | kMeetings)) meetings.push_back(static_cast<KeptMessage*>(node));
  for (KeptMessage* each : meetings) cancel_stream(each->from, each->content(), code);
  cancel_in(context | kMeetings, kAnySource, code);
  for (PartitionedHalf* half : channel_.halves)
    if (half->context() == context) half->cancel(code);
}

// What a sender that has introduced itself here has sent, and will.
void Core::cancel_stream(int from, std::span<const std::byte> introduction, Code code) {
  Introduction said;
  if (introduction.size() != sizeof said) return;
  std::memcpy(&said, introduction.data(), sizeof said);
  if (said.stream < kStreamNumbers) cancel_in(kStreams | said.stream, from, code);
}

Partitioned* Core::send_partitioned(int peer, const Envelope& envelope,
                                    const Partitioned::Shape& shape) {
  auto* const side = new Sender(*this, peer, envelope, shape, channel_.streams++ % kStreamNumbers);
  side->introduce(envelope);
  return side;
}

Partitioned* Core::recv_partitioned(int peer, const Envelope& envelope,
                                    const Partitioned::Shape& shape) {
  auto* const side = new Receiver(*this, peer, envelope, shape);
  side->meet(envelope);
  return side;
}

}  // namespace tutti::p2p
