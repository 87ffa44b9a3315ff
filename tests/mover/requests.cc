// Calls, and what becomes of buffers whose calls go on as requests.
#include <unistd.h>

#include <map>
#include <mutex>

#include "life.h"
#include "mover.h"

namespace mover {

struct Pending {
  std::vector<std::unique_ptr<Move>> moves;
  bool is_kept = false, is_active = false;
  void finish() {
    is_active = false;
    for (const auto& each : moves) each->finish();
  }
};

namespace {

// A receive that the program freed before its end: it hears of it by messages that come later. Then
// its message is there, but the GPU may be at it still: we wait a while in the next calls.
struct Freed {
  MPI_Request request;
  std::shared_ptr<Pending> pending;
  int patience = 5000;
  bool has_ended() {
    for (int round = 0;; ++round) {
      int has = 0;
      if (PMPI_Test(&request, &has, MPI_STATUS_IGNORE) != MPI_SUCCESS || has != 0) return true;
      if (round == 1000 || --patience < 0) return false;
      ::usleep(100);
    }
  }
};

// Of the program's handles; several may be equal where a request was done at once.
struct Table {
  std::mutex mutex;
  std::multimap<MPI_Request, std::shared_ptr<Pending>> pending;
  std::recursive_mutex freed_mutex;  // calls of MPI are made with it
  std::vector<Freed> freed;
};
Table& table() {
  static auto& all = *new Table;
  return all;
}

std::shared_ptr<Pending> find(MPI_Request request, bool takes) {
  const std::lock_guard lock(table().mutex);
  const auto found = table().pending.find(request);
  if (found == table().pending.end()) return nullptr;
  std::shared_ptr<Pending> pending = found->second;
  if (takes) table().pending.erase(found);
  return pending;
}
void keep(MPI_Request request, std::shared_ptr<Pending> pending) {
  const std::lock_guard lock(table().mutex);
  table().pending.emplace(request, std::move(pending));
}

bool has_ended(MPI_Request request) {
  int has = 0;
  return PMPI_Request_get_status(request, &has, MPI_STATUS_IGNORE) != MPI_SUCCESS || has != 0;
}

// What was received by requests that nobody waits for. Whoever looks has it all when it goes on.
void look_at_freed() {
  const std::lock_guard lock(table().freed_mutex);
  std::erase_if(table().freed, [](Freed& each) {
    if (!each.has_ended()) return false;
    each.pending->finish();
    return true;
  });
}

}  // namespace

std::unique_ptr<Move> Call::take(const void* buffer, const Blocks& blocks, Way way) {
  if (buffer == MPI_IN_PLACE || blocks.empty()) return nullptr;
  std::unique_ptr<Move> moved = Move::make(buffer, blocks, way, name_);
  if (moved != nullptr) count_move(name_);
  return moved;
}

int Call::end(int code) {
  for (const auto& each : moves_) each->finish();
  look_at_freed();
  return code;
}

int Call::end(int code, const MPI_Request* request, bool is_kept) {
  if (code != MPI_SUCCESS || moves_.empty()) return end(code);
  auto pending = std::make_shared<Pending>();
  pending->moves = std::move(moves_);
  pending->is_kept = is_kept;
  pending->is_active = !is_kept;
  keep(*request, std::move(pending));
  look_at_freed();
  return code;
}

// A kept one's handle stays its own; and its partitions are made ready while others wait for it.
Ends::Ends(const MPI_Request* requests, int count) {
  for (int i = 0; is_open() && requests != nullptr && i < count; ++i) {
    before_.push_back(requests[i]);
    if (requests[i] == MPI_REQUEST_NULL) continue;
    auto pending = find(requests[i], false);
    if (pending == nullptr) continue;
    if (!pending->is_kept) pending = find(requests[i], true);
    taken_.emplace_back(static_cast<std::size_t>(i), std::move(pending));
  }
}

Ends::~Ends() {
  for (auto& [at, pending] : taken_)
    if (pending != nullptr && !pending->is_kept) keep(before_[at], std::move(pending));
}

int Ends::end(int code, const MPI_Request* requests, bool only_asks) {
  for (auto& [at, pending] : taken_) {
    const bool is_gone = requests[at] == MPI_REQUEST_NULL;
    if (!is_gone && !pending->is_active) continue;
    if (!is_gone && !only_asks && !pending->is_kept) continue;
    if (!is_gone && !has_ended(requests[at])) continue;
    if (pending->is_active) pending->finish();
    if (!pending->is_kept) pending->moves.clear();
    if (is_gone) pending = nullptr;
  }
  if (is_open()) look_at_freed();
  return code;
}

// What is sent by partitions is put when they are ready.
void starting(const MPI_Request* requests, int count) {
  for (int i = 0; is_open() && requests != nullptr && i < count; ++i) {
    const auto pending = requests[i] == MPI_REQUEST_NULL ? nullptr : find(requests[i], false);
    if (pending == nullptr || pending->is_active) continue;
    pending->is_active = true;
    for (const auto& each : pending->moves) each->put();
  }
}

int free_request(MPI_Request* request) {
  const bool is_one = is_open() && request != nullptr && *request != MPI_REQUEST_NULL;
  const auto pending = is_one ? find(*request, true) : nullptr;
  if (pending == nullptr || !pending->is_active) return PMPI_Request_free(request);
  bool receives = false;
  for (const auto& each : pending->moves) receives |= each->is_received();
  if (receives) {
    const std::lock_guard lock(table().freed_mutex);
    table().freed.push_back({*request, pending});
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
  }
  for (const auto& each : pending->moves) each->abandon();
  return PMPI_Request_free(request);
}

void close_requests() {
  look_at_freed();
  const std::lock_guard lock(table().freed_mutex);
  for (auto& [request, pending, patience] : table().freed) {
    for (const auto& each : pending->moves) each->abandon();
    PMPI_Request_free(&request);
  }
  table().freed.clear();
}

}  // namespace mover

using namespace mover;

namespace {

void are_ready(MPI_Request request, int first, int last) {
  const auto pending = is_open() ? find(request, false) : nullptr;
  if (pending == nullptr || first < 0 || last < first) return;
  for (const auto& each : pending->moves)
    each->put_partitions(static_cast<std::size_t>(first), static_cast<std::size_t>(last) + 1);
}

}  // namespace

extern "C" {

// Programs ask at once, and once, whether it was cancelled. What GPUs still do for it would have
// them hear of that later: so they are done here, and we have seen it.
int MPI_Cancel(MPI_Request* request) {
  constexpr int kLooks = 16;
  const int code = PMPI_Cancel(request);
  if (!is_open() || code != MPI_SUCCESS) return code;
  for (int look = 0; look < kLooks && !has_ended(*request); ++look)
    for (const CUcontext context : gpu::contexts) {
      CUcontext old = nullptr;
      CU(cuCtxPushCurrent(context));
      CU(cuCtxSynchronize());
      CU(cuCtxPopCurrent(&old));
    }
  return code;
}
int MPI_Pready(int partition, MPI_Request request) {
  are_ready(request, partition, partition);
  return PMPI_Pready(partition, request);
}
int MPI_Pready_range(int low, int high, MPI_Request request) {
  are_ready(request, low, high);
  return PMPI_Pready_range(low, high, request);
}
int MPI_Pready_list(int length, const int partitions[], MPI_Request request) {
  for (int i = 0; partitions != nullptr && i < length; ++i)
    are_ready(request, partitions[i], partitions[i]);
  return PMPI_Pready_list(length, partitions, request);
}
int MPI_Parrived(MPI_Request request, int partition, int* flag) {
  const int code = PMPI_Parrived(request, partition, flag);
  const auto pending =
      is_open() && code == MPI_SUCCESS && *flag != 0 ? find(request, false) : nullptr;
  if (pending != nullptr && pending->is_active && partition >= 0)
    for (const auto& each : pending->moves)
      each->finish_partition(static_cast<std::size_t>(partition));
  return code;
}

}  // extern "C"
