// A call by levels, stage after stage (select::level_plan): this gives each stage its buffers.
//
//   carried   what this member gives to its next stage: what the user gave, until a stage leaves
//             something with it, as a leader
//   result    where that is left: in the user's result where it belongs there (no byte is copied
//             twice), else in the leader's buffer
//   part      so much of the vector as the buffer holds; all stages, then the next part
//   slice     members whose groups are in order: there a call of the leaders, with a block a
//             leader, has the blocks where the members' are. Groups of neighbours are one slice,
//             ranks that go round over two groups of n are n.
//
// A stage that failed on one member must not let others wait: before each call of a stage its
// members take the greatest of the codes that they bring from before, and none makes it where one
// has an error. All go through all stages, so an error of one group comes to all groups by their
// leaders.
#include <algorithm>
#include <numeric>

#include "comm/agree.h"
#include "comm/gpu/calls.h"
#include "comm/state.h"
#include "types/handles.h"

namespace tutti::comm {
namespace {

using coll::Collective;
using select::CallLevel;
using select::LevelStage;

class ByLevels {
 public:
  ByLevels(Communicator& comm, const delegate::GpuCall& call);
  Code run();

 private:
  struct Range {
    Count begin, end;
    Count count() const { return end - begin; }
  };
  struct Slice {
    Count begin;
    std::vector<Count> counts;  // by group
  };

  // One call of a stage; `code` is what this member brings.
  Code step(Code code, CollCall call) const;
  bool enter(const LevelStage& stage);
  Code run_stage(const LevelStage& stage, Code code);
  Code bcast(Code code);
  Code fold(Collective collective, Code code);
  Code gather(Code code);
  Code allgather(Code code);
  Code reduce_scatter(Code code);
  Code scatter(Code code);

  CollCall take_into(Collective collective, std::byte* into, Count count) const;
  std::vector<Slice> slices() const;
  bool is_on_root() const { return on_->rank() == root_; }
  std::byte* shifted(std::byte* base, Count units) const { return base + units * unit_->size(); }
  // Of a rank's block, in the part.
  Range piece_of(int rank) const {
    const auto at = static_cast<std::size_t>(rank);
    const Count begin = std::max(part_.begin, begins_[at]);
    return {begin, std::max(begin, std::min(part_.end, begins_[at + 1]))};
  }

  const GpuCalls& calls_;
  const select::LevelPlan& plan_;
  const delegate::TeamCall& said_;
  const int me_, size_;
  const types::Datatype* unit_;  // of a reduction its elements, else bytes
  std::byte *given_, *result_;
  std::vector<Count> begins_;  // of the ranks' blocks, where there are blocks, and the end
  std::vector<int> group_;     // my group's ranks
  Range part_{};
  std::byte* carried_ = nullptr;
  // Of the stage.
  Communicator* on_ = nullptr;
  int root_ = 0;
};

ByLevels::ByLevels(Communicator& comm, const delegate::GpuCall& call)
    : calls_(*comm.state().gpu_calls),
      plan_(*select::level_plan(call.said.collective)),
      said_(call.said),
      me_(comm.rank()),
      size_(comm.size()) {
  const bool folds = said_.op != nullptr;
  unit_ = folds ? said_.type : types::predefined_type(types::abi::kByte);
  result_ = folds ? static_cast<std::byte*>(said_.recv) : said_.into.at();
  given_ = folds ? static_cast<std::byte*>(const_cast<void*>(said_.send)) : said_.from.at();
  const Count block = folds ? said_.count : said_.block;
  if (said_.collective == Collective::allgather && said_.in_place) given_ = result_ + block * me_;
  begins_.push_back(0);
  for (int rank = 0; rank < size_; ++rank) {
    begins_.push_back(begins_.back() +
                      (call.counts.empty() ? block : call.counts[static_cast<std::size_t>(rank)]));
    if (calls_.group_of[static_cast<std::size_t>(rank)] ==
        calls_.group_of[static_cast<std::size_t>(me_)])
      group_.push_back(rank);
  }
}

Code ByLevels::run() {
  const bool has_blocks =
      said_.collective == Collective::allgather || said_.collective == Collective::reduce_scatter;
  const Count whole = has_blocks ? begins_.back() : begins_[1];
  const Count most = plan_.needs_room ? select::kLevelPart / unit_->size() : whole;
  Code code = Code::ok;
  for (Count begin = 0; begin < whole; begin += most) {
    part_ = {begin, std::min(begin + most, whole)};
    carried_ = plan_.needs_room ? shifted(given_, begin) : given_;
    for (const LevelStage& stage : plan_.stages)
      if (enter(stage)) code = run_stage(stage, code);
  }
  return code;
}

// Whether this member has a part in it.
bool ByLevels::enter(const LevelStage& stage) {
  const auto me = static_cast<std::size_t>(me_), root = static_cast<std::size_t>(said_.root);
  const bool is_roots = calls_.group_of[me] == calls_.group_of[root];
  const bool is_among = stage.level == CallLevel::among;
  on_ = is_among ? calls_.levels.among.get() : calls_.levels.inside.get();
  root_ = is_among                             ? calls_.group_of[root]
          : stage.level == CallLevel::in_roots ? calls_.place_in_group[root]
                                               : 0;
  return on_ != nullptr && !(stage.level == CallLevel::in_roots && !is_roots) &&
         !(stage.level == CallLevel::in_others && is_roots);
}

Code ByLevels::run_stage(const LevelStage& stage, Code code) {
  switch (stage.collective) {
    case Collective::bcast:
      return bcast(code);
    case Collective::gather:
      return gather(code);
    case Collective::allgather:
      return allgather(code);
    case Collective::reduce_scatter:
      return reduce_scatter(code);
    case Collective::scatter:
      return scatter(code);
    default:
      return fold(stage.collective, code);
  }
}

Code ByLevels::step(Code code, CollCall call) const {
  auto word = static_cast<std::int64_t>(code);
  if (const Code lost = allreduce_max(*on_, std::span(&word, 1)); lost != Code::ok) return lost;
  if (word != 0) return static_cast<Code>(word);
  call.root = root_;
  return run_within(*on_, call);
}

CollCall ByLevels::take_into(Collective collective, std::byte* into, Count count) const {
  CollCall call;
  call.collective = collective;
  call.op = coll::delegated(collective).kind == coll::Delegated::fold ? said_.op : nullptr;
  call.recv = into;
  call.recv_count = count;
  call.recv_type = unit_;
  return call;
}

Code ByLevels::bcast(Code code) {
  return step(code, take_into(Collective::bcast, shifted(result_, part_.begin), part_.count()));
}

// A vector, to a member of the level or to all.
Code ByLevels::fold(Collective collective, Code code) {
  const bool is_result = said_.collective == Collective::allreduce ||
                         (said_.collective == Collective::reduce && me_ == said_.root);
  const bool takes = collective == Collective::allreduce || is_on_root();
  std::byte* const into = !takes      ? nullptr
                          : is_result ? shifted(result_, part_.begin)
                                      : calls_.levels.buffer->at();
  CollCall call = take_into(collective, into, part_.count());
  call.in_place = into == carried_;
  if (!call.in_place) {
    call.send = carried_;
    call.send_count = part_.count();
    call.send_type = unit_;
  }
  if (takes) carried_ = into;
  return step(code, call);
}

// The blocks of a group, to where they belong in the leader's result.
Code ByLevels::gather(Code code) {
  const Count block = begins_[1];
  const bool are_neighbours = group_.back() - group_.front() + 1 == on_->size();
  std::byte* const own = shifted(result_, begins_[static_cast<std::size_t>(me_)]);
  const std::vector<Count> counts(group_.size(), block);
  std::vector<Count> displs;
  for (const int rank : group_) displs.push_back(begins_[static_cast<std::size_t>(rank)]);
  CollCall call;
  if (is_on_root()) call = take_into(Collective::gather, are_neighbours ? own : result_, block);
  call.collective = are_neighbours ? Collective::gather : Collective::gatherv;
  if (is_on_root() && !are_neighbours) {
    call.recv_counts = counts;
    call.recv_displs = displs;
  }
  call.in_place = is_on_root() && carried_ == own;
  if (!call.in_place) {
    call.send = carried_;
    call.send_count = block;
    call.send_type = unit_;
  }
  return step(code, call);
}

std::vector<ByLevels::Slice> ByLevels::slices() const {
  std::vector<Slice> found;
  int last = 0;
  for (int rank = 0; rank < size_; ++rank) {
    const Range piece = piece_of(rank);
    if (piece.count() == 0) continue;
    const int group = calls_.group_of[static_cast<std::size_t>(rank)];
    if (found.empty() || group < last)
      found.push_back({piece.begin, std::vector<Count>(static_cast<std::size_t>(on_->size()))});
    found.back().counts[static_cast<std::size_t>(group)] += piece.count();
    last = group;
  }
  return found;
}

bool are_equal(const std::vector<Count>& counts) {
  return std::ranges::all_of(counts, [&](Count count) { return count == counts[0]; });
}

std::vector<Count> begins_of(const std::vector<Count>& counts) {
  std::vector<Count> begins(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), begins.begin(), Count{0});
  return begins;
}

Code ByLevels::allgather(Code code) {
  for (const Slice& slice : slices()) {
    CollCall call =
        take_into(Collective::allgather, shifted(result_, slice.begin), slice.counts[0]);
    call.in_place = true;
    const std::vector<Count> displs = begins_of(slice.counts);
    if (!are_equal(slice.counts)) {
      call.collective = Collective::allgatherv;
      call.recv_counts = slice.counts;
      call.recv_displs = displs;
    }
    code = step(code, call);
  }
  return code;
}

// What the leader's group is due, in the order of its members.
Code ByLevels::reduce_scatter(Code code) {
  std::byte* const buffer = calls_.levels.buffer->at() + select::kLevelPart;
  Count filled = 0;
  for (const Slice& slice : slices()) {
    const Count own = slice.counts[static_cast<std::size_t>(on_->rank())];
    CollCall call = take_into(Collective::reduce_scatter, shifted(buffer, filled), own);
    call.recv_counts = slice.counts;
    call.send = shifted(carried_, slice.begin - part_.begin);
    call.send_type = unit_;
    code = step(code, call);
    filled += own;
  }
  carried_ = buffer;
  return code;
}

Code ByLevels::scatter(Code code) {
  std::vector<Count> counts;
  for (const int rank : group_) counts.push_back(piece_of(rank).count());
  const std::vector<Count> displs = begins_of(counts);
  const bool is_equal = are_equal(counts);
  const Range own = piece_of(me_);
  CollCall call =
      take_into(is_equal ? Collective::scatter : Collective::scatterv,
                shifted(result_, own.begin - begins_[static_cast<std::size_t>(me_)]), own.count());
  if (is_on_root()) {
    call.send = carried_;
    call.send_type = unit_;
    call.send_count = own.count();
    if (!is_equal) {
      call.send_counts = counts;
      call.send_displs = displs;
    }
  }
  return step(code, call);
}

}  // namespace

Code run_by_levels(Communicator& comm, const delegate::GpuCall& said) {
  for (const CommRef& level :
       {comm.state().gpu_calls->levels.inside, comm.state().gpu_calls->levels.among})
    if (level) level->errors_end_job = comm.errors_end_job;
  return ByLevels(comm, said).run();
}

}  // namespace tutti::comm
