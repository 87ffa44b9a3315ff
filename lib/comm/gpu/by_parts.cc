// Reductions by the team of their host where a vector may lie in GPU memory: the team folds in host
// memory. (From GPU to GPU, where members can: past_team.cc.)
//
// A long vector goes a part at a time: the next part comes to host memory, and the result before it
// goes from there, while the team folds. So no more than two parts each way are there at once.
// Where its vector lies only a member knows: all of them go by parts, of the same elements. A part
// of a reduce-scatter has a piece of each member's block, so that all members fold in each.
//
// A member whose memory cannot be used, or whose GPU fails, takes part to the end: the team would
// wait for it for ever. Copies are waited for with the gate free, while messages move.
#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "comm/delegated.h"
#include "comm/gpu/calls.h"
#include "comm/scheduled.h"
#include "comm/state.h"

namespace tutti::comm {
namespace {

using coll::Collective;
using delegate::TeamCall;

constexpr Count kPart = Count{1} << 20;  // bytes

struct Elements {
  Count begin = 0, end = 0;
  Count count() const { return end - begin; }
};

// A vector of this member's, whose parts have room in host memory where they need it.
class Vector {
 public:
  explicit Vector(Runtime& runtime) : runtime_(runtime) {}
  Vector(const Vector&) = delete;
  Vector& operator=(const Vector&) = delete;
  ~Vector() {
    for (Count part = 0; part < kRooms; ++part) {
      end_copies(part);
      runtime_.scratch.give(std::move(room_of(part).piece));
    }
  }
  void set(const types::Buffer& whole, bool has_rooms) {
    whole_ = whole;
    has_rooms_ = has_rooms;
  }
  bool is_usable() const { return whole_.device == nullptr || whole_.device->is_usable(); }
  // `ranges`: that a part has at most.
  void make_rooms(Count elements, Count parts, std::size_t ranges) {
    for (Count part = 0; has_rooms_ && part < std::min<Count>(parts, kRooms); ++part) {
      Room& room = room_of(part);
      room.at = engine::take_elements(runtime_.scratch, elements, *whole_.type, room.piece);
      room.copies.reserve(ranges);
    }
  }
  // Where the team finds that part.
  std::byte* at(Count part, Count begin) {
    return has_rooms_ ? room_of(part).at : whole_.at() + begin * whole_.type->extent();
  }
  // Between its ranges and its room, where they stand one behind the other.
  void begin_to_host(Count part, std::span<const Elements> ranges) { copy(part, ranges, true); }
  void begin_from_host(Count part, std::span<const Elements> ranges) { copy(part, ranges, false); }
  // Of what was begun in that part's room, if anything was. What other messages lack memory for
  // meanwhile is left to later rounds.
  Code end_copies(Count part) {
    Code code = Code::ok;
    for (std::vector<p2p::Pending*>& copies = room_of(part).copies; !copies.empty();) {
      p2p::Pending* const copy = copies.back();
      while (!copy->done) try {
          runtime_.endpoint.wait(copy);
        } catch (const std::bad_alloc&) {
        }
      if (copy->status.code != Code::ok) code = copy->status.code;
      copies.pop_back();
      runtime_.endpoint.release(copy);
    }
    return code;
  }

 private:
  static constexpr Count kRooms = 2;
  struct Room {
    engine::ScratchPool::Piece piece;
    std::byte* at = nullptr;
    std::vector<p2p::Pending*> copies;
  };
  Room& room_of(Count part) { return rooms_[static_cast<std::size_t>(part % kRooms)]; }
  void copy(Count part, std::span<const Elements> ranges, bool to_host) {
    if (!has_rooms_) return;
    Room& room = room_of(part);
    const types::Datatype& type = *whole_.type;
    Count at = 0;
    for (std::size_t next = 0; next < ranges.size();) {
      Elements range = ranges[next++];
      while (next < ranges.size() && ranges[next].begin == range.end)
        range.end = ranges[next++].end;
      if (range.count() == 0) continue;
      types::Buffer there =
          types::Buffer::whole(whole_.at() + range.begin * type.extent(), range.count(), type);
      there.device = whole_.device;
      const types::Buffer here =
          types::Buffer::whole(room.at + at * type.extent(), range.count(), type);
      at += range.count();
      const types::Buffer &from = to_host ? there : here, &into = to_host ? here : there;
      if (whole_.device == nullptr)
        types::copy(from, into);
      else
        room.copies.push_back(runtime_.endpoint.copy(from, into));
    }
  }

  Runtime& runtime_;
  types::Buffer whole_;
  bool has_rooms_ = false;
  std::array<Room, kRooms> rooms_;
};

// This member's vectors; empty: it has none.
struct Vectors {
  types::Buffer given, result;
  bool are_on_host() const { return given.device == nullptr && result.device == nullptr; }
};

class ByParts {
 public:
  ByParts(Communicator& comm, const TeamCall& said, const Vectors& vectors, bool is_cut);
  bool is_usable() const { return given_.is_usable() && result_.is_usable(); }
  // Nothing was begun where these throw but copies, which end.
  void make_rooms() {
    given_.make_rooms(room_, parts_, ranges_.size());
    result_.make_rooms(parts_ == 1 ? said_.count : std::min(room_, said_.count), parts_, 1);
  }
  Code run();

 private:
  std::span<const Elements> ranges_of(Count part);
  Elements result_of(Count part) const;
  TeamCall call_of(Count part);

  Communicator& comm_;
  const TeamCall& said_;
  const bool scatters_, is_told_;
  std::vector<Count> begins_;  // of blocks, and the end: of a reduce-scatter the members', else one
  std::vector<Count> edges_;   // of parts, from the beginning of each block
  Count parts_, room_;         // how many parts; elements of one
  std::vector<Elements> ranges_;  // of a part, by block
  std::vector<Count> counts_;     // likewise
  delegate::Uneven uneven_;
  Vector given_, result_;
  bool has_data_ = true;  // whether the team can be given what this member gives
};

ByParts::ByParts(Communicator& comm, const TeamCall& said, const Vectors& vectors, bool is_cut)
    : comm_(comm),
      said_(said),
      scatters_(said.collective == Collective::reduce_scatter),
      is_told_(is_told(comm, said)),
      begins_{0},
      edges_{0},
      given_(comm.runtime()),
      result_(comm.runtime()) {
  const auto blocks = static_cast<std::size_t>(scatters_ ? comm.size() : 1);
  Count longest = 0;
  for (std::size_t block = 0; block < blocks; ++block) {
    const bool is_even = said.uneven == nullptr;
    const Count count = is_even ? said.count : said.uneven->into.counts[block];
    longest = std::max(longest, count);
    begins_.push_back(begins_.back() + count);
  }
  // The longer blocks share what the shorter ones leave of a part.
  const Count most = std::max<Count>(kPart / std::max<Count>(said.type->size(), 1), 1);
  do {
    Count longer = 0;
    for (std::size_t block = 0; block < blocks; ++block)
      longer += begins_[block + 1] - begins_[block] > edges_.back() ? 1 : 0;
    const Count piece = std::max<Count>(most / std::max<Count>(longer, 1), 1);
    edges_.push_back(is_cut ? std::min(edges_.back() + piece, longest) : longest);
  } while (edges_.back() < longest);
  parts_ = static_cast<Count>(edges_.size()) - 1;
  room_ = parts_ == 1 ? begins_.back() : std::max(most, static_cast<Count>(blocks));
  ranges_.resize(blocks);
  counts_.resize(blocks);
  const types::Devices& devices = comm.runtime().devices;
  uneven_.from = {nullptr, said.type, {}, {}, {}, &devices};
  uneven_.into = {nullptr, said.type, counts_, {}, {}, &devices};
  given_.set(vectors.given, vectors.given.device != nullptr || (scatters_ && parts_ > 1));
  result_.set(vectors.result, vectors.result.device != nullptr);
}

std::span<const Elements> ByParts::ranges_of(Count part) {
  const auto at = static_cast<std::size_t>(part);
  for (std::size_t block = 0; block < ranges_.size(); ++block)
    ranges_[block] = {std::min(begins_[block] + edges_[at], begins_[block + 1]),
                      std::min(begins_[block] + edges_[at + 1], begins_[block + 1])};
  return ranges_;
}

// In this member's result.
Elements ByParts::result_of(Count part) const {
  const auto at = static_cast<std::size_t>(part);
  return {std::min(edges_[at], said_.count), std::min(edges_[at + 1], said_.count)};
}

TeamCall ByParts::call_of(Count part) {
  const std::span<const Elements> ranges = ranges_of(part);
  std::ranges::transform(ranges, counts_.begin(), &Elements::count);
  Count elements = 0;
  for (const Count count : counts_) elements += count;
  TeamCall call = said_;
  call.count = result_of(part).count();
  call.block = elements * said_.type->size();
  call.send = elements > 0 ? given_.at(part, ranges[0].begin) : nullptr;
  call.recv = is_told_ ? result_.at(part, result_of(part).begin) : nullptr;
  if (scatters_) call.uneven = &uneven_;
  if (!has_data_) call.fingerprint = delegate::kHasNothing;
  return call;
}

// What the team says comes before how this member's own copies have ended; of a team that breaks
// it is the last word.
Code ByParts::run() {
  Code code = Code::ok, own = Code::ok;
  Reason why;
  has_data_ = is_usable() && said_.fingerprint != delegate::kHasNothing;
  if (has_data_) given_.begin_to_host(0, ranges_of(0));
  for (Count part = 0; part < parts_; ++part) {
    const Code came = given_.end_copies(part);
    if (came != Code::ok) own = came;
    has_data_ = has_data_ && came == Code::ok;
    if (has_data_ && part + 1 < parts_) given_.begin_to_host(part + 1, ranges_of(part + 1));
    if (const Code went = result_.end_copies(part); went != Code::ok) own = went;
    const TeamCall call = call_of(part);
    const Code now = comm_.state().team->run(call);
    const bool is_last_word = now != Code::ok && comm_.state().team->is_broken();
    if (now != Code::ok && (code == Code::ok || is_last_word)) {
      code = now;
      why = std::move(comm_.runtime().reason);
    }
    if (is_last_word) break;
    const Elements result = result_of(part);
    if (code == Code::ok && own == Code::ok && is_told_ && is_usable())
      result_.begin_from_host(part, std::span(&result, 1));
  }
  for (const Count part : {Count{0}, Count{1}}) {
    given_.end_copies(part);
    if (const Code went = result_.end_copies(part); went != Code::ok) own = went;
  }
  if (code == Code::ok) return own;
  comm_.runtime().reason = std::move(why);  // others' calls may have had theirs meanwhile
  return code;
}

// What a reduction does not use may be anything: nobody asks whose memory it is.
void drop_unused(const Communicator& comm, TeamCall& said) {
  if (!is_told(comm, said)) said.recv = nullptr;
  if (said.block == 0) said.send = nullptr;
}

// Whose memory a vector is, is asked once.
Vectors vectors_of(const Communicator& comm, const TeamCall& said) {
  const types::Devices& devices = comm.runtime().devices;
  Vectors vectors;
  vectors.given = devices.whole(said.send, said.given(), *said.type);
  if (!is_told(comm, said)) return vectors;
  if (said.recv == said.send && vectors.given.bytes > 0) {
    vectors.result = types::Buffer::whole(said.recv, said.count, *said.type);
    vectors.result.device = vectors.given.device;
  } else {
    vectors.result = devices.whole(said.recv, said.count, *said.type);
  }
  return vectors;
}

}  // namespace

Code reduce_by_parts(Communicator& comm, TeamCall& said, bool is_cut) {
  drop_unused(comm, said);
  is_cut = is_cut && said.block > kPart;
  const Vectors vectors = take_to_join(comm, [&] { return vectors_of(comm, said); });
  if (vectors.are_on_host() && !is_cut) return comm.state().team->run(said);
  const auto parts =
      take_to_join(comm, [&] { return std::make_unique<ByParts>(comm, said, vectors, is_cut); });
  const bool is_good = parts->is_usable();
  try {
    parts->make_rooms();
    return end_among_devices(comm, is_good, parts->run());
  } catch (...) {  // the others are told
    comm.state().team->cancel(Code::no_mem);
    throw;
  }
}

}  // namespace tutti::comm
