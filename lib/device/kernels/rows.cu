// rows: packs rows of equal blocks into a stream, or unpacks them from it; and runs of a table that
// lies on the GPU.
#include "device/kernels/grid.h"

namespace {

using tutti::device::KernelRow;
using tutti::device::RowsParams;
using tutti::device::RunEntry;
using tutti::device::RunsParams;

struct alignas(16) Sixteen {
  std::uint64_t low, high;
};

// A GPU writes its memory by so many bytes, and what is written of them in part it reads first.
constexpr std::uintptr_t kWritten = 32;

// A unit of a block, here in memory and there in the stream. At a block's ends what will be read
// for being written in part is asked for early: with the unit itself, not when that is written.
template <class Unit>
TUTTI_DEVICE void move_unit(bool packs, Unit* here, Unit* there, bool begins, bool ends) {
  if (packs) {
    *there = *here;
    return;
  }
  const auto begin = reinterpret_cast<std::uintptr_t>(here), end = begin + sizeof(Unit);
  if ((begins && begin % kWritten != 0) || (ends && end % kWritten != 0))
    tutti::device::ask_for(here);
  *here = *there;
}

// The row's memory from its lowest address on, and where its first block is in that.
struct Span {
  char* data;
  std::int64_t lead;
};

TUTTI_DEVICE Span span_of(const KernelRow& row) {
  const std::int64_t reach = (row.count - 1) * row.stride;
  const std::int64_t lead = reach < 0 ? -reach : 0;
  const std::int64_t length = (reach < 0 ? -reach : reach) + row.bytes;
  return {tutti::device::reach(row.data - lead, length), lead};
}

template <class Unit>
TUTTI_DEVICE void move_row(const RowsParams& p, const KernelRow& row) {
  const Span memory = span_of(row);
  char* const stream =
      tutti::device::reach(p.packed + row.position, (row.count - 1) * row.stream_stride + row.bytes);
  const std::int64_t per = row.bytes / static_cast<std::int64_t>(sizeof(Unit));
  const std::int64_t all = row.count * per;
  const bool is_small = all <= 0xffffffffLL;  // division is quicker in 32 bits
  for (std::int64_t i = tutti::device::first(); i < all; i += tutti::device::step()) {
    const std::int64_t block =
        is_small ? static_cast<std::uint32_t>(i) / static_cast<std::uint32_t>(per) : i / per;
    const std::int64_t within = (i - block * per) * static_cast<std::int64_t>(sizeof(Unit));
    Unit* const here =
        reinterpret_cast<Unit*>(memory.data + memory.lead + block * row.stride + within);
    Unit* const there = reinterpret_cast<Unit*>(stream + block * row.stream_stride + within);
    const bool ends = within + static_cast<std::int64_t>(sizeof(Unit)) == row.bytes;
    move_unit(p.packs != 0, here, there, within == 0, ends);
  }
}

template <class Unit>
TUTTI_DEVICE void move_rows(const RowsParams& p) {
  const KernelRow* const rows =
      p.many == nullptr
          ? p.few
          : tutti::device::reach(p.many, p.rows * static_cast<std::int64_t>(sizeof(KernelRow)));
  for (std::int64_t r = tutti::device::first_row(); r < p.rows; r += tutti::device::row_step())
    move_row<Unit>(p, rows[r]);
}

// As many threads as `lane_bits` says for each run, side by side.
template <class Unit>
TUTTI_DEVICE void move_runs(const RunsParams& p) {
  const int lane_bits = tutti::device::sharing(p.lane_bits);
  const std::int64_t lanes = std::int64_t{1} << lane_bits;
  const std::int64_t all = p.items << lane_bits;
  const RunEntry* const table =
      tutti::device::reach(p.table, (p.runs + 1) * static_cast<std::int64_t>(sizeof(RunEntry)));
  const std::int64_t each = table[p.runs].start;
  for (std::int64_t i = tutti::device::first(); i < all; i += tutti::device::step()) {
    const std::int64_t item = p.first_item + (i >> lane_bits);
    const std::int64_t element = item / p.runs, at = item - element * p.runs;
    const RunEntry run = table[at];
    const std::int64_t begin = element * each + run.start;
    const std::int64_t end = element * each + table[at + 1].start;
    const std::int64_t from = begin < p.from ? p.from : begin;
    const std::int64_t bytes = (end < p.to ? end : p.to) - from;
    char* const memory =
        tutti::device::reach(p.memory + element * p.extent + run.offset + (from - begin), bytes);
    char* const stream = tutti::device::reach(p.packed + (from - p.from), bytes);
    const std::int64_t units = bytes / static_cast<std::int64_t>(sizeof(Unit));
    for (std::int64_t unit = i & (lanes - 1); unit < units; unit += lanes)
      move_unit(p.packs != 0, reinterpret_cast<Unit*>(memory) + unit,
                reinterpret_cast<Unit*>(stream) + unit, unit == 0, unit == units - 1);
  }
}

}  // namespace

TUTTI_KERNEL(tutti_runs, RunsParams) {
  switch (p.unit) {
    case 16:
      return move_runs<Sixteen>(p);
    case 8:
      return move_runs<std::uint64_t>(p);
    case 4:
      return move_runs<std::uint32_t>(p);
    case 2:
      return move_runs<std::uint16_t>(p);
    default:
      return move_runs<std::uint8_t>(p);
  }
}

TUTTI_KERNEL(tutti_rows, RowsParams) {
  switch (p.unit) {
    case 16:
      return move_rows<Sixteen>(p);
    case 8:
      return move_rows<std::uint64_t>(p);
    case 4:
      return move_rows<std::uint32_t>(p);
    case 2:
      return move_rows<std::uint16_t>(p);
    default:
      return move_rows<std::uint8_t>(p);
  }
}
