// What a step puts into its lane: copies of the driver's for one run, kernels for other layouts and
// for folds.
#include <bit>

#include "device/cuda/current.h"
#include "device/cuda/gpu.h"
#include "device/cuda/rest.h"

namespace tutti::device::cuda {

using types::Buffer;
using types::Count;

namespace {

CUdeviceptr pointer(const void* address) {
  return reinterpret_cast<CUdeviceptr>(address);
}

// Bytes that a kernel may move at once: they divide all numbers and addresses whose bits these are.
int unit_of(std::uint64_t bits) {
  constexpr int kMost = 16;
  return 1 << std::countr_zero(bits | kMost);
}

// Bytes of memory under so many elements; a last gap may be somebody else's.
Count reach_of(const types::Datatype& type, Count count) {
  return (count - 1) * type.extent() + type.true_extent();
}

}  // namespace

void Gpu::pack(const Buffer& from, Count offset, std::span<std::byte> out, Done* done) {
  Job* const job = take_job(What::pack, done, static_cast<Count>(out.size()));
  job->from = from;
  job->offset = offset;
  job->host = out.data();
  begin(job);
}

void Gpu::unpack(const Buffer& into, Count offset, std::span<const std::byte> in, Done* done) {
  Job* const job = take_job(What::unpack, done, static_cast<Count>(in.size()));
  job->into = into;
  job->offset = offset;
  job->host = const_cast<std::byte*>(in.data());  // read only
  begin(job);
}

// From another GPU's memory the driver copies by itself, by whatever way there is.
void Gpu::copy(const Buffer& from, const Buffer& into, Done* done) {
  Job* const job = take_job(What::copy, done, std::min(from.bytes, into.bytes));
  job->from = from;
  job->into = into;
  begin(job);
}

// Kernels need operands where their elements may lie; others are folded in host memory.
bool Gpu::folds(const types::Fold& fold) const {
  const types::Datatype& type = *fold.into.type;
  if (fold.op->kernel(type) == nullptr || fold_kernel(*fold.op, type.element()) < 0) return false;
  const auto places = reinterpret_cast<std::uintptr_t>(fold.from.at()) |
                      reinterpret_cast<std::uintptr_t>(fold.into.at());
  const auto extent = static_cast<std::uintptr_t>(type.extent());
  return places % std::min<std::uintptr_t>(extent & (~extent + 1), 16) == 0;
}

void Gpu::fold(const types::Fold& fold, Done* done) {
  Job* const job = take_job(What::fold, done, fold.into.count);
  job->from = fold.from;
  job->into = fold.into;
  job->op = fold.op;
  job->from_first = fold.from_first;
  begin(job);
}

bool Gpu::widens(const Buffer& narrow) const {
  return narrow.device == this && narrow.is_one_run() &&
         convert_kernel(narrow.type->element()) >= 0 && pointer(narrow.at()) % 2 == 0;
}

void Gpu::convert(const Buffer& from, const Buffer& into, Done* done) {
  Job* const job = take_job(What::convert, done, from.count);
  job->from = from;
  job->into = into;
  begin(job);
}

// An event behind nothing but the wait for the caller.
void Gpu::await_caller(Done* done) {
  if (!is_abandoned_) {
    const Current current(driver_, context_);
    if (ask_fence()) return done->fire(done, true);
  }
  begin(take_job(What::wait, done, 1));
}

Result<bool> Gpu::take_chunk(Step& step, std::size_t place) {
  if (!staging_.is_open()) TUTTI_DO(open_staging());
  step.chunks[place] = staging_.take();
  return step.chunks[place] != nullptr;
}

// Copies of all streams share few queues of the hardware, whatever their priority: behind a user's,
// which waits for a call of ours, ours would wait for ever. A kernel of ours does not.
Result<void> Gpu::move(const Step& step, void* to, const void* from, Count bytes) {
  const Job& job = *step.job;
  const Rest rest(driver_.enqueued);
  if (!rest && !reads_another(job)) {
    RowsParams params;
    params.many = nullptr;
    params.rows = 1;
    params.packed = static_cast<char*>(to);
    params.packs = 1;
    params.few[0] = {const_cast<char*>(static_cast<const char*>(from)), 0, bytes, 1, 0, 0};
    params.unit = unit_of(pointer(to) | pointer(from) | static_cast<std::uint64_t>(bytes));
    return kernels_.rows(step.lane->stream, params);
  }
  return check(driver_.cuMemcpyAsync(pointer(to), pointer(from), static_cast<std::size_t>(bytes),
                                     step.lane->stream),
               "cuMemcpyAsync");
}

// Null: there is none, or calls in streams are under way.
const RunTables::Table* Gpu::make_table(const types::Datatype& type, CUstream stream) {
  const Rest rest(driver_.enqueued);
  return rest ? tables_.make(type, stream) : nullptr;
}

Result<bool> Gpu::move_by_table(Step& step, const RunTables::Table* table, const Buffer& buffer,
                                std::byte* packed, bool packs, Count bytes) {
  if (table == nullptr || table->runs == 0) return false;
  RunsParams params;
  Count origin = 0;
  types::layout_of(*buffer.type, &origin);
  params.table = reinterpret_cast<const RunEntry*>(table->runs);
  params.runs = table->count;
  params.memory = static_cast<char*>(buffer.data) + origin;
  params.extent = buffer.type->extent();
  params.from = buffer.skip + step.job->offset + step.job->begun;
  params.to = params.from + bytes;
  params.packed = reinterpret_cast<char*>(packed);
  params.first_item = table->item_of(params.from);
  params.items = table->item_of(params.to - 1) + 1 - params.first_item;
  const auto of = [](Count number) { return static_cast<std::uint64_t>(number); };
  const std::uint64_t bits = table->bits | of(params.extent) | of(params.from) | of(params.to) |
                             pointer(params.memory) | pointer(packed);
  params.unit = unit_of(bits);
  const Count units = table->bytes / table->count / params.unit;  // of a run, about
  constexpr std::uint64_t kMostLanes = 32;
  params.lane_bits =
      static_cast<int>(std::bit_width(std::clamp<std::uint64_t>(of(units), 1, kMostLanes) - 1));
  params.packs = packs ? 1 : 0;
  if (table->stream != step.lane->stream)
    TUTTI_DO(check(driver_.cuStreamWaitEvent(step.lane->stream, table->there, 0), "a wait"));
  tables_.hold();  // for good, if the launch fails: nobody knows then
  TUTTI_DO(kernels_.runs(step.lane->stream, params));
  ++step.tables;
  return true;
}

Result<bool> Gpu::move_rows(Step& step, const Buffer& buffer, std::byte* packed, bool packs,
                            Count* bytes, std::size_t place) {
  Job& job = *step.job;
  const RunTables::Table* table = tables_.find(*buffer.type);
  TUTTI_TRY(is_moved, move_by_table(step, table, buffer, packed, packs, *bytes));
  if (is_moved) return true;
  const auto give = [](void* self, const types::Row& row) {
    auto& rows = *static_cast<Rows*>(self);
    const auto of = [](Count number) { return static_cast<std::uint64_t>(number); };
    rows.bits |= pointer(row.data) | of(row.position) | of(row.bytes);
    if (row.count > 1) rows.bits |= of(row.stride) | of(row.stream_stride);
    rows.all.push_back({reinterpret_cast<char*>(row.data), row.position, row.bytes, row.count,
                        row.stride, row.stream_stride});
    return rows.all.size() <= rows.room;
  };
  rows_.room = pace_.chunk / sizeof(KernelRow);
  for (;; job.most = *bytes = (*bytes + 1) / 2) {  // until there is room for them
    rows_.all.clear();
    rows_.bits = pointer(packed);
    types::rows(buffer, job.offset + job.begun, *bytes, &rows_, give);
    if (rows_.all.size() > RowsParams::kFew && table == nullptr) {
      table = make_table(*buffer.type, step.lane->stream);
      TUTTI_TRY(is_moved_now, move_by_table(step, table, buffer, packed, packs, *bytes));
      if (is_moved_now) return true;
    }
    if (rows_.all.size() <= rows_.room) break;
  }
  RowsParams params;
  params.many = nullptr;
  params.rows = static_cast<std::int64_t>(rows_.all.size());
  params.packed = reinterpret_cast<char*>(packed);
  params.unit = unit_of(rows_.bits);
  params.packs = packs ? 1 : 0;
  if (rows_.all.size() <= RowsParams::kFew) {
    std::copy(rows_.all.begin(), rows_.all.end(), params.few);
  } else {
    if (step.chunks[place] == nullptr) {
      TUTTI_TRY(is_taken, take_chunk(step, place));
      if (!is_taken) return false;
    }
    std::memcpy(step.chunks[place], rows_.all.data(), rows_.all.size() * sizeof(KernelRow));
    params.many = reinterpret_cast<const KernelRow*>(step.chunks[place]);
  }
  TUTTI_DO(kernels_.rows(step.lane->stream, params));
  return true;
}

Result<bool> Gpu::step_pack(Step& step) {
  Job& job = *step.job;
  TUTTI_TRY(is_taken, take_chunk(step, 0));
  if (!is_taken) return false;
  Count bytes = std::min({job.total - job.begun, job.most, static_cast<Count>(pace_.chunk)});
  if (job.from.is_one_run()) {
    TUTTI_DO(move(step, step.chunks[0], job.from.at() + job.offset + job.begun, bytes));
  } else {
    TUTTI_TRY(begun, move_rows(step, job.from, step.chunks[0], true, &bytes));
    if (!begun) return false;
  }
  step.host = job.host + job.begun;
  step.bytes = static_cast<std::size_t>(bytes);
  job.begun += bytes;
  return true;
}

Result<bool> Gpu::step_unpack(Step& step) {
  Job& job = *step.job;
  TUTTI_TRY(is_taken, take_chunk(step, 0));
  if (!is_taken) return false;
  Count bytes = std::min({job.total - job.begun, job.most, static_cast<Count>(pace_.chunk)});
  std::memcpy(step.chunks[0], job.host + job.begun, static_cast<std::size_t>(bytes));
  if (job.into.is_one_run()) {
    TUTTI_DO(move(step, job.into.at() + job.offset + job.begun, step.chunks[0], bytes));
  } else {
    TUTTI_TRY(begun, move_rows(step, job.into, step.chunks[0], false, &bytes));
    if (!begun) return false;
  }
  job.begun += bytes;
  return true;
}

// A layout on one side is one kernel; two go by way of memory between them, in order in their lane.
Result<bool> Gpu::step_copy(Step& step) {
  Job& job = *step.job;
  const bool from_run = job.from.is_one_run(), into_run = job.into.is_one_run();
  Count bytes = std::min(job.total - job.begun, job.most);
  Result<bool> begun = true;
  if (from_run && into_run) {
    TUTTI_DO(move(step, job.into.at() + job.begun, job.from.at() + job.begun, bytes));
  } else if (from_run) {
    begun = move_rows(step, job.into, job.from.at() + job.begun, false, &bytes);
  } else if (into_run) {
    begun = move_rows(step, job.from, job.into.at() + job.begun, true, &bytes);
  } else {
    TUTTI_DO(take_spare());
    auto* const spare = reinterpret_cast<std::byte*>(spare_);
    bytes = std::min(bytes, static_cast<Count>(kSpare));
    // Both chunks first: once a kernel is begun, its chunk stays until the step ends.
    for (const std::size_t place : {1, 2}) {
      TUTTI_TRY(is_taken, take_chunk(step, place));
      if (!is_taken) return false;
    }
    // What the second has no room for is packed again by the next step.
    begun = move_rows(step, job.from, spare, true, &bytes, 1);
    if (begun && *begun) begun = move_rows(step, job.into, spare, false, &bytes, 2);
  }
  if (!begun || !*begun) return begun;
  job.begun += bytes;
  return true;
}

Result<bool> Gpu::step_fold(Step& step) {
  Job& job = *step.job;
  const types::Datatype& type = *job.into.type;
  Count count = job.total - job.begun;
  if (job.from.device == nullptr || job.into.device == nullptr) {
    TUTTI_TRY(is_taken, take_chunk(step, 0));
    if (!is_taken) return false;
    count = std::min(count, static_cast<Count>(pace_.chunk) / type.extent());
  } else if (reads_another(job)) {
    TUTTI_DO(take_spare());
    count = std::min(count, static_cast<Count>(kSpare) / type.extent());
  }
  return fold_elements(step, count);
}

Result<bool> Gpu::fold_elements(Step& step, Count count) {
  Job& job = *step.job;
  const types::Datatype& type = *job.into.type;
  const Count done = job.begun * type.extent();
  std::byte* from = job.from.at() + done;
  std::byte* into = job.into.at() + done;
  const auto bytes = static_cast<std::size_t>(reach_of(type, count));
  if (job.from.device == nullptr) {
    std::memcpy(step.chunks[0], from, bytes);
    from = step.chunks[0];
  } else if (reads_another(job)) {
    auto* const spare = reinterpret_cast<std::byte*>(spare_);
    TUTTI_DO(move(step, spare, from, static_cast<Count>(bytes)));
    from = spare;
  } else if (job.into.device == nullptr) {
    std::memcpy(step.chunks[0], into, bytes);
    step.host = into;
    step.bytes = bytes;
    into = step.chunks[0];
  }
  FoldParams params;
  params.a = job.from_first ? from : into;
  params.b = job.from_first ? into : from;
  params.out = into;
  params.count = count;
  params.op = static_cast<int>(job.op->handle());
  TUTTI_DO(kernels_.fold(step.lane->stream, fold_kernel(*job.op, type.element()), params));
  job.begun += count;
  return true;
}

Result<bool> Gpu::step_convert(Step& step) {
  Job& job = *step.job;
  const bool widens = job.from.type->size() < job.into.type->size();
  const Buffer& narrow = widens ? job.from : job.into;
  ConvertParams params;
  params.narrow = narrow.at();
  params.wide = reinterpret_cast<float*>((widens ? job.into : job.from).at());
  params.count = narrow.bytes / 2;  // a complex number is two
  params.widens = widens ? 1 : 0;
  TUTTI_DO(kernels_.convert(step.lane->stream, convert_kernel(narrow.type->element()), params));
  job.begun = job.total;
  return true;
}

}  // namespace tutti::device::cuda
