// A buffer in memory of a kind that is drawn: there and back.
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>
#include <mutex>

#include "life.h"
#include "mover.h"

namespace mover {
namespace {

constexpr std::size_t kRim = 64;
// The stand-in gives no address twice; what is mapped by address takes whole pages of a GPU.
constexpr std::size_t kMostFreed = std::size_t{4} << 30;
constexpr std::size_t kLeastFreed = std::size_t{2} << 20;

std::byte pattern(std::size_t at) {
  return static_cast<std::byte>(0xa5U ^ (at * 29U));
}

// Memory that was used once is used again, mostly: a process has so much.
struct Shelves {
  std::mutex mutex;
  std::map<std::pair<int, int>, std::vector<std::unique_ptr<gpu::Area>>> areas;
  std::size_t freed = 0;
};
Shelves& shelves() {
  static auto& all = *new Shelves;
  return all;
}

// The GPU is current in this thread, or nothing is afterwards, as before.
class OnGpu {
 public:
  OnGpu() { CU(cuCtxPushCurrent(gpu::contexts[0])); }
  ~OnGpu() {
    CUcontext old = nullptr;
    CU(cuCtxPopCurrent(&old));
  }
  OnGpu(const OnGpu&) = delete;
  OnGpu& operator=(const OnGpu&) = delete;
};

std::unique_ptr<gpu::Area> take_area(gpu::Kind kind, std::size_t bytes,
                                     std::pair<int, int>* shelf) {
  *shelf = {static_cast<int>(kind), static_cast<int>(std::bit_width(bytes - 1))};
  auto& areas = shelves().areas[*shelf];
  if (areas.empty()) return std::make_unique<gpu::Area>(std::size_t{1} << shelf->second, kind);
  std::unique_ptr<gpu::Area> area = std::move(areas.back());
  areas.pop_back();
  return area;
}

struct Layout {
  MPI_Count size = 0, lb = 0, extent = 0, true_lb = 0, true_extent = 0;
  // False: it is no type that a call would take.
  bool ask(MPI_Datatype type) {
    MPI_Count bytes = 0;
    if (type == MPI_DATATYPE_NULL || PMPI_Pack_size_c(1, type, own_comm(), &bytes) != MPI_SUCCESS)
      return false;
    PMPI_Type_size_c(type, &size);
    PMPI_Type_get_extent_c(type, &lb, &extent);
    PMPI_Type_get_true_extent_c(type, &true_lb, &true_extent);
    return size != MPI_UNDEFINED && extent != MPI_UNDEFINED && true_extent != MPI_UNDEFINED;
  }
};

// Bytes that a block's elements have, from `from` on, as runs from there. False: not a buffer.
struct Span {
  __int128 begin = 0, end = 0;
  bool is_dense = true;
  bool find(const Block& block) {
    Layout layout;
    if (!layout.ask(block.type)) return false;
    if (layout.size == 0) return true;
    const __int128 last = static_cast<__int128>(block.count - 1) * layout.extent;
    begin = static_cast<__int128>(block.at) + layout.true_lb + std::min<__int128>(last, 0);
    end = static_cast<__int128>(block.at) + layout.true_lb + std::max<__int128>(last, 0) +
          layout.true_extent;
    is_dense = layout.size == layout.true_extent && (last == 0 || layout.extent == layout.size);
    data = static_cast<__int128>(block.count) * layout.size;
    return end - begin <= kMostMoved && data <= kMostMoved;
  }
  __int128 data = 0;
};

Owners neighbours_of(const Shape& shape, bool incoming) {
  Owners owners(incoming ? shape.in() : shape.out());
  int kind = MPI_UNDEFINED;
  if (owners.number == 0 || PMPI_Topo_test(shape.comm(), &kind) != MPI_SUCCESS || kind != MPI_CART)
    return owners;
  for (int i = 0; i < owners.number; ++i) {
    int below = MPI_PROC_NULL, above = MPI_PROC_NULL;
    PMPI_Cart_shift(shape.comm(), i / 2, 1, &below, &above);
    owners.there.push_back((i % 2 == 0 ? below : above) != MPI_PROC_NULL);
  }
  return owners;
}

}  // namespace

// Neighbours, and which of them are somebody.
Owners sources_of(const Shape& shape) {
  return neighbours_of(shape, true);
}
Owners destinations_of(const Shape& shape) {
  return neighbours_of(shape, false);
}

MPI_Aint extent_of(MPI_Datatype type) {
  Layout layout;
  return layout.ask(type) ? static_cast<MPI_Aint>(layout.extent) : 0;
}

bool Move::lay_out(const void* buffer, const Blocks& blocks) {
  const auto base = reinterpret_cast<std::intptr_t>(buffer);
  std::vector<Span> spans(blocks.size());
  __int128 begin = 0, end = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].count < 0) return false;
    if (blocks[i].count == 0) continue;
    if (!spans[i].find(blocks[i])) return false;
    if (spans[i].data == 0) continue;
    begin = begin == end ? spans[i].begin : std::min(begin, spans[i].begin);
    end = std::max(end, spans[i].end);
  }
  if (begin == end || end - begin > kMostMoved) return false;
  const auto first = static_cast<std::intptr_t>(begin) + base;
  const std::size_t front = kRim + (static_cast<std::size_t>(first) % kRim);
  image_.resize(front + static_cast<std::size_t>(end - begin) + kRim);
  for (std::size_t i = 0; i < image_.size(); ++i) image_[i] = pattern(i);
  shift_ = static_cast<std::intptr_t>(front) - static_cast<std::intptr_t>(begin);
  runs_.resize(blocks.size());
  const auto add = [&](std::vector<Run>& runs, __int128 at, std::size_t bytes) {
    const auto place = static_cast<std::intptr_t>(at);
    runs.push_back({static_cast<std::size_t>(place + shift_),
                    reinterpret_cast<std::byte*>(base + place), bytes});
  };
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Span& span = spans[i];
    if (span.data == 0) continue;
    const auto whole = static_cast<std::size_t>(span.end - span.begin);
    if (span.is_dense) {
      add(runs_[i], span.begin, whole);
      continue;
    }
    // What unpacking touches is data, all else gaps.
    const std::vector<std::byte> ones(static_cast<std::size_t>(span.data), std::byte{1});
    std::vector<std::byte> touched(whole + 1);
    MPI_Count position = 0;
    std::byte* const origin =
        touched.data() + static_cast<std::intptr_t>(blocks[i].at - span.begin);
    if (PMPI_Unpack_c(ones.data(), static_cast<MPI_Count>(ones.size()), &position, origin,
                      blocks[i].count, blocks[i].type, own_comm()) != MPI_SUCCESS)
      return false;
    for (std::size_t at = 0; at < whole;) {
      const auto on =
          std::find(touched.begin() + static_cast<std::ptrdiff_t>(at), touched.end(), std::byte{1});
      const auto off = std::find(on, touched.end(), std::byte{0});
      if (on != off)
        add(runs_[i], span.begin + (on - touched.begin()), static_cast<std::size_t>(off - on));
      at = static_cast<std::size_t>(off - touched.begin());
    }
  }
  return true;
}

std::unique_ptr<Move> Move::make(const void* buffer, const Blocks& blocks, Way way,
                                 const char* what) {
  std::unique_ptr<Move> made(new Move(way, what));
  if (!made->lay_out(buffer, blocks) || !made->read(0, blocks.size())) return nullptr;
  const std::lock_guard lock(shelves().mutex);
  const gpu::Kind kind = gpu::any_kind();
  if (kind == gpu::Kind::host) return nullptr;
  const OnGpu on;
  made->area_ = take_area(kind, made->image_.size(), &made->shelf_);
  made->area_->put(made->image_.data(), made->image_.size());
  return made;
}

Move::~Move() {
  if (area_ == nullptr) return;
  if (is_abandoned_) {
    static_cast<void>(area_.release());  // never used again
    return;
  }
  const std::lock_guard lock(shelves().mutex);
  const std::size_t bytes = std::max(std::size_t{1} << shelf_.second, kLeastFreed);
  if (bytes + shelves().freed > kMostFreed || gpu::luck()() % 16 != 0) {
    shelves().areas[shelf_].push_back(std::move(area_));
    return;
  }
  shelves().freed += bytes;
  const OnGpu on;
  area_.reset();
}

void* Move::address() const {
  return reinterpret_cast<void*>(reinterpret_cast<std::intptr_t>(area_->data()) + shift_);
}

// By the kernel, so that an address where nothing is is no crash of ours.
bool Move::read(std::size_t first, std::size_t last) {
  constexpr std::size_t kAtOnce = 512;
  std::vector<iovec> to, from;
  const auto move = [&] {
    std::size_t bytes = 0;
    for (const iovec& each : to) bytes += each.iov_len;
    const auto moved =
        ::process_vm_readv(::getpid(), to.data(), to.size(), from.data(), from.size(), 0);
    to.clear();
    from.clear();
    return moved == static_cast<ssize_t>(bytes);
  };
  for (std::size_t i = first; i < last; ++i)
    for (const Run& run : runs_[i]) {
      to.push_back({image_.data() + run.at, run.bytes});
      from.push_back({run.host, run.bytes});
      if (to.size() == kAtOnce && !move()) return false;
    }
  return to.empty() || move();
}

void Move::put() {
  if (!read(0, runs_.size())) complain("is not there any more", 0, image_);
  const OnGpu on;
  area_->put(image_.data(), image_.size());
}

// Neither touches what lies between, which may be under way.
void Move::put_partitions(std::size_t first, std::size_t last) {
  if (first >= last || last > runs_.size()) return;
  if (!read(first, last)) complain("is not there any more", 0, image_);
  const OnGpu on;
  for (std::size_t i = first; i < last; ++i)
    for (const Run& run : runs_[i]) area_->put(image_.data() + run.at, run.bytes, run.at);
}

void Move::take_back(const Run& run, const std::byte* now) {
  for (std::size_t k = 0; k < run.bytes; ++k)
    if (std::byte& before = image_[run.at + k]; now[k] != before) run.host[k] = before = now[k];
}

void Move::finish() {
  std::vector<std::byte> now(image_.size());
  {
    const OnGpu on;
    area_->get(now.data(), now.size());
  }
  if (now == image_) return;
  if (way_ == Way::received)
    for (const std::vector<Run>& block : runs_)
      for (const Run& run : block) take_back(run, now.data() + run.at);
  const auto differs = std::mismatch(now.begin(), now.end(), image_.begin());
  if (differs.first == now.end()) return;
  complain(way_ == Way::sent ? "was changed, and is sent"
                             : "was written to where it has a gap, or beyond its ends",
           static_cast<std::size_t>(differs.first - now.begin()), now);
}

void Move::finish_partition(std::size_t which) {
  if (way_ != Way::received || which >= runs_.size()) return;
  std::vector<std::byte> now;
  const OnGpu on;
  for (const Run& run : runs_[which]) {
    now.resize(run.bytes);
    area_->get(now.data(), run.bytes, run.at);
    take_back(run, now.data());
  }
}

void Move::complain(const char* why, std::size_t at, const std::vector<std::byte>& now) const {
  std::fprintf(
      stderr,
      "mover: rank %d: a buffer of %s %s: byte %td of it in %s memory is %02x and was %02x\n",
      ranks::rank, what_, why,
      static_cast<std::ptrdiff_t>(at) - static_cast<std::ptrdiff_t>(shift_),
      gpu::kKindNames[shelf_.first], static_cast<unsigned>(now[at]),
      static_cast<unsigned>(image_[at]));
  std::abort();
}

}  // namespace mover
