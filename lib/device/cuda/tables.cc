// Making and keeping tables.
#include "device/cuda/tables.h"

#include <algorithm>
#include <utility>

namespace tutti::device::cuda {
namespace {

// Longer runs are several: so the threads of a kernel have about the same to do.
constexpr types::Count kMostBytes = 1024;

}  // namespace

std::int64_t RunTables::Table::item_of(std::int64_t position) const {
  const std::int64_t element = position / bytes, within = position % bytes;
  const RunEntry* const next =
      std::upper_bound(pinned, pinned + count, within,
                       [](std::int64_t at, const RunEntry& run) { return at < run.start; });
  return element * count + (next - pinned) - 1;
}

void RunTables::open() {
  if (is_tried_) return;
  is_tried_ = true;
  known_.reserve(kMostKnown);
  void* memory = nullptr;
  if (driver_.cuMemHostAlloc(&memory, kEntries * sizeof(RunEntry), CU_MEMHOSTALLOC_PORTABLE) !=
      CUDA_SUCCESS)
    return;
  pinned_ = static_cast<RunEntry*>(memory);
  if (driver_.cuMemAlloc(&room_, kEntries * sizeof(RunEntry)) != CUDA_SUCCESS) room_ = 0;
  for (CUevent event = nullptr; events_.size() < kMostKnown; events_.push_back(event))
    if (driver_.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) break;
}

void RunTables::forget() {
  for (const Known& known : known_) {
    if (known.table.there != nullptr) events_.push_back(known.table.there);
    if (!known.table.has_own_rooms) continue;
    give_back({const_cast<RunEntry*>(known.table.pinned), known.table.runs},
              static_cast<std::size_t>(known.table.count + 1));
  }
  known_.clear();
  taken_ = 0;
}

void RunTables::close() {
  forget();
  for (const CUevent event : std::exchange(events_, {})) driver_.cuEventDestroy(event);
  if (room_ != 0) driver_.cuMemFree(room_);
  if (pinned_ != nullptr) driver_.cuMemFreeHost(pinned_);
  room_ = 0;
  pinned_ = nullptr;
}

const RunTables::Table* RunTables::find(const types::Datatype& type) const {
  if (known_.empty()) return nullptr;
  const void* const layout = types::layout_of(type).get();
  const auto found = std::find_if(known_.begin(), known_.end(), [layout](const Known& known) {
    return known.layout.get() == layout;
  });
  return found == known_.end() ? nullptr : &found->table;
}

// What is there is given up where all of it has been read.
bool RunTables::take_room(std::size_t entries) {
  if (known_.size() < kMostKnown && entries <= kEntries - taken_) return true;
  if (readers_ > 0) return false;
  forget();
  return entries <= kEntries;
}

// Null where the driver has none.
RunTables::Rooms RunTables::own_rooms(std::size_t entries) const {
  Rooms rooms;
  void* pinned = nullptr;
  const std::size_t bytes = entries * sizeof(RunEntry);
  if (driver_.cuMemHostAlloc(&pinned, bytes, CU_MEMHOSTALLOC_PORTABLE) != CUDA_SUCCESS) return {};
  if (driver_.cuMemAlloc(&rooms.gpu, bytes) != CUDA_SUCCESS) {
    driver_.cuMemFreeHost(pinned);
    return {};
  }
  rooms.pinned = static_cast<RunEntry*>(pinned);
  return rooms;
}

// The driver waits for what touches them.
void RunTables::give_back(const Rooms& own, std::size_t entries) {
  driver_.cuMemFree(own.gpu);
  driver_.cuMemFreeHost(own.pinned);
  owned_ -= entries;
}

const RunTables::Table* RunTables::make(const types::Datatype& type, CUstream stream) {
  open();
  if (room_ == 0) return nullptr;
  std::vector<types::ElementRun> runs;
  std::size_t entries = 1;
  const bool is_listed = types::element_runs(type, kMostOwn - 1, &runs);
  for (const types::ElementRun& run : runs)
    entries += static_cast<std::size_t>((run.bytes + kMostBytes - 1) / kMostBytes);
  const bool is_own = entries > kEntries;
  const bool gets_own = is_own && is_listed && entries <= kMostOwn;
  if (gets_own && owned_ + entries > kMostOwn) {
    if (readers_ > 0) return nullptr;
    forget();
  }
  if (!take_room(is_listed && !is_own ? entries : 0) || events_.empty()) return nullptr;
  Rooms rooms;
  if (gets_own) rooms = own_rooms(entries);
  const bool fits = is_listed && (!is_own || rooms.pinned != nullptr);
  Known known{types::layout_of(type), {}};
  if (fits) {
    Table& table = known.table;
    table.has_own_rooms = is_own;
    if (is_own) {
      owned_ += entries;
    } else {  // given away, come what may
      const std::size_t first = std::exchange(taken_, taken_ + entries);
      rooms = {pinned_ + first, room_ + first * sizeof(RunEntry)};
    }
    RunEntry* entry = rooms.pinned;
    for (const types::ElementRun& run : runs)
      for (types::Count at = 0; at < run.bytes; at += kMostBytes) {
        *entry = {run.offset + at, table.bytes + at};
        table.bits |= static_cast<std::uint64_t>(entry->offset | entry->start);
        ++entry;
        if (run.bytes - at <= kMostBytes) table.bytes += run.bytes;
      }
    *entry = {0, table.bytes};
    table.bits |= static_cast<std::uint64_t>(table.bytes);
    table.count = static_cast<std::int64_t>(entries - 1);
    if (!bring(table, rooms, stream)) {
      if (is_own) give_back(rooms, entries);
      return nullptr;
    }
  }
  known_.push_back(std::move(known));
  return &known_.back().table;
}

bool RunTables::bring(Table& table, const Rooms& rooms, CUstream stream) {
  table.there = events_.back();
  events_.pop_back();
  table.runs = rooms.gpu;
  table.stream = stream;
  table.pinned = rooms.pinned;
  const auto bytes = static_cast<std::size_t>(table.count + 1) * sizeof(RunEntry);
  if (driver_.cuMemcpyAsync(table.runs, reinterpret_cast<CUdeviceptr>(rooms.pinned), bytes,
                            stream) == CUDA_SUCCESS) {
    // Without the event it is waited for here; who reads the table has nothing to wait for then.
    if (driver_.cuEventRecord(table.there, stream) == CUDA_SUCCESS ||
        driver_.cuStreamSynchronize(stream) == CUDA_SUCCESS)
      return true;
  }
  events_.push_back(std::exchange(table.there, nullptr));
  return false;
}

}  // namespace tutti::device::cuda
