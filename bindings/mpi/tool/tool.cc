// The lock, the count of initialisations, live handles, and text as the tool interface gives it.
#include "mpi/tool/tool.h"

#include <algorithm>
#include <cstring>
#include <set>

namespace tutti::mpi::tool {
namespace {

struct ToolState {
  std::recursive_mutex lock;
  int started = 0;
  std::set<const void*> live;
};
ToolState& shared() {
  static auto& all = *new ToolState;  // kept: see process.h
  return all;
}

}  // namespace

Entry::Entry() : Entry(shared().lock) {}
Entry::Entry(std::recursive_mutex& lock)
    : code((lock.lock(), shared().started > 0 ? MPI_SUCCESS : MPI_T_ERR_NOT_INITIALIZED)),
      hold_(lock, std::adopt_lock) {}

int start() {
  const std::scoped_lock hold(shared().lock);
  ++shared().started;
  return MPI_SUCCESS;
}

int end() {
  const std::scoped_lock hold(shared().lock);
  if (shared().started == 0) return MPI_T_ERR_NOT_INITIALIZED;
  --shared().started;
  return MPI_SUCCESS;
}

void remember(const void* handle) {
  shared().live.insert(handle);
}
void forget(const void* handle) {
  shared().live.erase(handle);
}
bool is_live(const void* handle) {
  return shared().live.count(handle) > 0;
}

void put_name(std::string_view text, char* into, int* length) {
  if (length == nullptr) return;
  if (into != nullptr && *length > 0) {
    const std::size_t fits = std::min(text.size(), static_cast<std::size_t>(*length) - 1);
    std::memcpy(into, text.data(), fits);
    into[fits] = '\0';
  }
  *length = static_cast<int>(text.size()) + 1;
}

}  // namespace tutti::mpi::tool
