// Calls, and what becomes of buffers whose calls go on as requests.
#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "life.h"
#include "mover.h"

namespace mover {

// Threads may make partitions ready, ask whether they are there, and wait, all of one request.
struct Pending {
  Pending(std::vector<std::unique_ptr<Move>> moved, bool kept)
      : is_kept(kept), moves_(std::move(moved)), is_active_(!kept) {}
  const bool is_kept;

  void start() {
    const std::lock_guard lock(mutex_);
    if (is_active_) return;
    is_active_ = true;
    for (const auto& each : moves_) each->put();  // of partitions: when they are ready
  }
  bool is_under_way() {
    const std::lock_guard lock(mutex_);
    return is_active_;
  }
  bool receives() {
    const std::lock_guard lock(mutex_);
    return std::any_of(moves_.begin(), moves_.end(),
                       [](const auto& each) { return each->is_received(); });
  }
  void finish() {
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_active_, false))
      for (const auto& each : moves_) each->finish();
    if (!is_kept) moves_.clear();
  }
  void abandon() {
    const std::lock_guard lock(mutex_);
    for (const auto& each : moves_) each->abandon();
  }
  void are_ready(std::size_t first, std::size_t last) {
    const std::lock_guard lock(mutex_);
    for (const auto& each : moves_) each->put_partitions(first, last);
  }
  void has_arrived(std::size_t partition) {
    const std::lock_guard lock(mutex_);
    for (const auto& each : moves_)
      if (is_active_) each->finish_partition(partition);
  }

 private:
  std::mutex mutex_;  // MPI is not called with it
  std::vector<std::unique_ptr<Move>> moves_;
  bool is_active_;
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

// Of the program's handles, none of which is given twice.
struct Table {
  std::mutex mutex;
  std::map<MPI_Request, std::shared_ptr<Pending>> pending;
  std::recursive_mutex freed_mutex;  // calls of MPI are made with it
  std::vector<Freed> freed;
};
Table& table() {
  static auto& all = *new Table;
  return all;
}

enum class Take { none, ended, all };  // ended: not those that stay their handle's
std::shared_ptr<Pending> find(MPI_Request request, Take takes) {
  const std::lock_guard lock(table().mutex);
  const auto found = table().pending.find(request);
  if (found == table().pending.end()) return nullptr;
  std::shared_ptr<Pending> pending = found->second;
  if (takes == Take::all || (takes == Take::ended && !pending->is_kept))
    table().pending.erase(found);
  return pending;
}
void keep(MPI_Request request, std::shared_ptr<Pending> pending) {
  const std::lock_guard lock(table().mutex);
  if (table().pending.emplace(request, std::move(pending)).second) return;
  std::fprintf(stderr, "mover: rank %d: a request has the handle of another one\n", ranks::rank);
  std::abort();
}

bool has_ended(MPI_Request request) {
  int has = 0;
  return PMPI_Request_get_status(request, &has, MPI_STATUS_IGNORE) != MPI_SUCCESS || has != 0;
}

// What was received by requests that nobody waits for. Whoever looks has it all when it goes on,
// but in a callback: who looks meanwhile may wait for MPI, and MPI for the callback's end.
void look_at_freed() {
  std::unique_lock lock(table().freed_mutex, std::try_to_lock);
  for (int looks = 0; !lock.owns_lock(); lock.try_lock()) {
    if (++looks > 1000) return;
    ::usleep(1000);
  }
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
  keep(*request, std::make_shared<Pending>(std::move(moves_), is_kept));
  look_at_freed();
  return code;
}

// A kept one's handle stays its own; and its partitions are made ready while others wait for it.
Ends::Ends(const MPI_Request* requests, int count) {
  for (int i = 0; is_open() && requests != nullptr && i < count; ++i) {
    before_.push_back(requests[i]);
    if (requests[i] == MPI_REQUEST_NULL) continue;
    if (auto pending = find(requests[i], Take::ended); pending != nullptr)
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
    if (!is_gone && !pending->is_under_way()) continue;
    if (!is_gone && !only_asks && !pending->is_kept) continue;
    if (!is_gone && !has_ended(requests[at])) continue;
    pending->finish();
    if (is_gone) pending = nullptr;
  }
  if (is_open()) look_at_freed();
  return code;
}

void starting(const MPI_Request* requests, int count) {
  for (int i = 0; is_open() && requests != nullptr && i < count; ++i)
    if (requests[i] != MPI_REQUEST_NULL)
      if (const auto pending = find(requests[i], Take::none); pending != nullptr) pending->start();
}

int free_request(MPI_Request* request) {
  const bool is_one = is_open() && request != nullptr && *request != MPI_REQUEST_NULL;
  const auto pending = is_one ? find(*request, Take::all) : nullptr;
  if (pending == nullptr || !pending->is_under_way()) return PMPI_Request_free(request);
  if (pending->receives()) {
    const std::lock_guard lock(table().freed_mutex);
    table().freed.push_back({*request, pending});
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
  }
  pending->abandon();
  return PMPI_Request_free(request);
}

void close_requests() {
  look_at_freed();
  const std::lock_guard lock(table().freed_mutex);
  for (auto& [request, pending, patience] : table().freed) {
    pending->abandon();
    PMPI_Request_free(&request);
  }
  table().freed.clear();
}

}  // namespace mover

using namespace mover;

namespace {

void are_ready(MPI_Request request, int first, int last) {
  const auto pending = is_open() ? find(request, Take::none) : nullptr;
  if (pending == nullptr || first < 0 || last < first) return;
  pending->are_ready(static_cast<std::size_t>(first), static_cast<std::size_t>(last) + 1);
}

}  // namespace

extern "C" {

// It waits for what was forgotten, too: its data are there afterwards.
int MPI_Comm_disconnect(MPI_Comm* comm) {
  const int code = PMPI_Comm_disconnect(comm);
  if (is_open()) look_at_freed();
  return code;
}

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
      is_open() && code == MPI_SUCCESS && *flag != 0 ? find(request, Take::none) : nullptr;
  if (pending != nullptr && partition >= 0)
    pending->has_arrived(static_cast<std::size_t>(partition));
  return code;
}

}  // extern "C"
