// Reductions by the team of their host where a vector may lie in GPU memory: the team folds in host
// memory. (From GPU to GPU, where members can: past_team.cc.)
//
// A long vector goes a part at a time: the next part comes to host memory, and the result before it
// goes from there, while the team folds. So no more than two parts each way are there at once.
// Where its vector lies only a member knows: all of them go by parts, of the same elements.
//
// A member whose memory cannot be used, or whose GPU fails, takes part all the same: the team would
// wait for it for ever. (A team that is broken refuses what is left at once.)
#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "base/backoff.h"
#include "comm/delegated.h"
#include "comm/gpu/calls.h"
#include "comm/scheduled.h"
#include "comm/state.h"

namespace tutti::comm {
namespace {

using coll::Collective;
using delegate::TeamCall;

constexpr Count kPart = Count{1} << 20;  // bytes

struct Range {
  Count begin = 0, end = 0;  // elements
  Count count() const { return end - begin; }
};

// A copy that goes on while its maker works.
class Copying final : private Done {
 public:
  Copying() {
    fire = [](Done* self, bool ok) {
      auto* const copying = static_cast<Copying*>(self);
      copying->is_under_way_ = false;
      copying->ok_ = ok;
    };
  }
  Copying(const Copying&) = delete;
  Copying& operator=(const Copying&) = delete;
  ~Copying() { end(); }
  // One lies on a device.
  void begin(const types::Buffer& from, const types::Buffer& into) {
    device_ = from.device != nullptr ? from.device : into.device;
    is_under_way_ = true;
    types::begin_copy(from, into, this);
  }
  // Waits for it, and says how it has ended; ok where none was begun.
  Code end() {
    wait_until([this] {
      if (is_under_way_) device_->progress();
      return !is_under_way_;
    });
    if (std::exchange(ok_, true)) return Code::ok;
    return device_->is_usable() ? Code::other : device_->refusal();
  }

 private:
  types::Device* device_ = nullptr;
  bool is_under_way_ = false, ok_ = true;
};

// A vector of this member's, whose parts have room in host memory where it lies elsewhere.
class Vector {
 public:
  explicit Vector(engine::ScratchPool& pool) : pool_(pool) {}
  Vector(const Vector&) = delete;
  Vector& operator=(const Vector&) = delete;
  ~Vector() {
    for (Room& room : rooms_) {
      room.copying.end();
      pool_.give(std::move(room.piece));
    }
  }
  void set(const types::Buffer& whole, bool has_rooms) {
    whole_ = whole;
    has_rooms_ = has_rooms;
  }
  bool is_usable() const { return whole_.device == nullptr || whole_.device->is_usable(); }
  types::Device* device() const { return whole_.device; }
  bool has_rooms() const { return has_rooms_; }
  void make_rooms(Count elements, Count parts) {
    for (Count part = 0; has_rooms_ && part < std::min<Count>(parts, kRooms); ++part) {
      Room& room = room_of(part);
      room.at = engine::take_elements(pool_, elements, *whole_.type, room.piece);
    }
  }
  // Where the team finds these elements, of that part.
  std::byte* at(Count part, const Range& range) {
    return has_rooms_ ? room_of(part).at : whole_.at() + range.begin * whole_.type->extent();
  }
  Code end_copy(Count part) { return room_of(part).copying.end(); }
  void begin_to_host(Count part, const Range& range) {
    if (has_rooms_) copy(part, there(range), here(part, range));
  }
  void begin_from_host(Count part, const Range& range) {
    if (has_rooms_) copy(part, here(part, range), there(range));
  }

 private:
  static constexpr Count kRooms = 2;
  struct Room {
    engine::ScratchPool::Piece piece;
    std::byte* at = nullptr;
    Copying copying;
  };
  Room& room_of(Count part) { return rooms_[static_cast<std::size_t>(part % kRooms)]; }
  types::Buffer there(const Range& range) const {
    types::Buffer buffer = types::Buffer::whole(whole_.at() + range.begin * whole_.type->extent(),
                                                range.count(), *whole_.type);
    buffer.device = whole_.device;
    return buffer;
  }
  types::Buffer here(Count part, const Range& range) {
    return types::Buffer::whole(room_of(part).at, range.count(), *whole_.type);
  }
  void copy(Count part, const types::Buffer& from, const types::Buffer& into) {
    if (from.bytes == 0) return;
    if (whole_.device == nullptr)
      types::copy(from, into);
    else
      room_of(part).copying.begin(from, into);
  }

  engine::ScratchPool& pool_;
  types::Buffer whole_;
  bool has_rooms_ = false;
  std::array<Room, kRooms> rooms_;
};

class ByParts {
 public:
  ByParts(Communicator& comm, const TeamCall& said);
  bool is_usable() const { return given_.is_usable() && result_.is_usable(); }
  // May throw; nothing was begun.
  void make_rooms() {
    given_.make_rooms(per_part_, parts_);
    result_.make_rooms(per_part_, parts_);
  }
  Code run();

 private:
  Range part(Count number) const {
    return {number * per_part_, std::min(whole_, (number + 1) * per_part_)};
  }
  Range result_of(const Range& range) const;
  TeamCall call_of(Count number);
  void note(Code code) {
    if (code_ == Code::ok) code_ = code;
  }

  Communicator& comm_;
  const TeamCall& said_;
  const bool scatters_;
  Count whole_, per_part_, parts_;  // elements; of a part; how many there are
  std::vector<Count> begins_;       // of the blocks of a reduce-scatter, and the end
  std::vector<Count> counts_;       // likewise, of the part
  delegate::Uneven uneven_;
  Vector given_, result_;
  Code code_ = Code::ok;
  bool has_data_ = true;  // whether the team can be given what this member gives
};

ByParts::ByParts(Communicator& comm, const TeamCall& said)
    : comm_(comm),
      said_(said),
      scatters_(said.collective == Collective::reduce_scatter),
      whole_(said.given()),
      given_(comm.runtime().scratch),
      result_(comm.runtime().scratch) {
  const Count size = std::max<Count>(said.type->size(), 1);
  const bool is_cut = comm.state().may_have_gpus;  // alike
  per_part_ = std::max<Count>(is_cut ? std::min(whole_, kPart / size) : whole_, 1);
  parts_ = std::max<Count>((whole_ + per_part_ - 1) / per_part_, 1);
  if (scatters_) {
    begins_.push_back(0);
    for (std::size_t member = 0; member < static_cast<std::size_t>(comm.size()); ++member)
      begins_.push_back(begins_.back() +
                        (said.uneven == nullptr ? said.count : said.uneven->into.counts[member]));
    counts_.resize(static_cast<std::size_t>(comm.size()));
    const types::Devices& devices = comm.runtime().devices;
    uneven_.from = {nullptr, said.type, {}, {}, {}, &devices};
    uneven_.into = {nullptr, said.type, counts_, {}, {}, &devices};
  }
  // Whose memory a vector is, is asked once.
  const types::Devices& devices = comm.runtime().devices;
  const types::Buffer given = devices.whole(said.send, whole_, *said.type);
  given_.set(given, given.device != nullptr);
  if (!is_told(comm, said)) return;
  types::Buffer result = types::Buffer::whole(said.recv, said.count, *said.type);
  const bool is_asked = said.recv == said.send && given.bytes > 0;
  result.device = is_asked ? given.device : devices.whole(said.recv, said.count, *said.type).device;
  // In place the result of a block lies where a part that was given before did.
  result_.set(result, result.device != nullptr || (scatters_ && said.recv == said.send));
}

// Which elements of this member's result belong to a part.
Range ByParts::result_of(const Range& range) const {
  if (!scatters_) return range;
  const auto me = static_cast<std::size_t>(comm_.rank());
  const Count begin = std::clamp(range.begin, begins_[me], begins_[me + 1]);
  const Count end = std::clamp(range.end, begins_[me], begins_[me + 1]);
  return {begin - begins_[me], end - begins_[me]};
}

TeamCall ByParts::call_of(Count number) {
  const Range range = part(number), result = result_of(range);
  TeamCall call = said_;
  call.count = result.count();
  call.block = range.count() * said_.type->size();
  call.send = range.count() > 0 ? given_.at(number, range) : nullptr;
  call.recv = is_told(comm_, call) ? result_.at(number, result) : nullptr;
  if (!has_data_) call.fingerprint = delegate::kHasNothing;
  if (!scatters_) return call;
  for (std::size_t member = 0; member < counts_.size(); ++member)
    counts_[member] = std::max<Count>(
        std::min(range.end, begins_[member + 1]) - std::max(range.begin, begins_[member]), 0);
  call.uneven = &uneven_;
  return call;
}

Code ByParts::run() {
  has_data_ = is_usable() && said_.fingerprint != delegate::kHasNothing;
  if (has_data_) given_.begin_to_host(0, part(0));
  for (Count number = 0; number < parts_; ++number) {
    const Code came = given_.end_copy(number);
    note(came);
    has_data_ = has_data_ && came == Code::ok;
    if (has_data_ && number + 1 < parts_) given_.begin_to_host(number + 1, part(number + 1));
    note(result_.end_copy(number));  // of two parts before: its room is free
    note(comm_.state().team->run(call_of(number)));
    if (code_ == Code::ok && has_data_) result_.begin_from_host(number, result_of(part(number)));
  }
  note(given_.end_copy(parts_));
  for (const Count number : {parts_, parts_ + 1}) note(result_.end_copy(number));
  return code_;
}

// What a reduction does not use may be anything: nobody asks whose memory it is.
void drop_unused(const Communicator& comm, TeamCall& said) {
  if (!is_told(comm, said)) said.recv = nullptr;
  if (said.block == 0) said.send = nullptr;
}

}  // namespace

bool goes_by_parts(const Communicator& comm, const TeamCall& said) {
  return said.op != nullptr && said.block > kPart && comm.state().may_have_gpus;
}

Code reduce_by_parts(Communicator& comm, TeamCall& said) {
  drop_unused(comm, said);
  const auto parts = take_to_join(comm, [&] { return std::make_unique<ByParts>(comm, said); });
  try {
    parts->make_rooms();
  } catch (const std::bad_alloc&) {  // the others are told
    comm.state().team->cancel(Code::no_mem);
    throw;
  }
  const bool is_good = parts->is_usable();
  return end_among_devices(comm, is_good, parts->run());
}

}  // namespace tutti::comm
