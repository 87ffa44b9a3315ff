// The table of numbers given to handles. Grows only with handles that were asked for.
#include "mpi/handles.h"

#include <mutex>
#include <unordered_map>
#include <vector>

namespace tutti::mpi {
namespace {

constexpr int kFirstNumber = 0x400;  // above all predefined handles

struct Numbers {
  std::mutex lock;  // callable before MPI_Init and from any thread
  std::vector<Handle> handles;
  std::unordered_map<Handle, int> numbers;
};
Numbers& numbers() {
  static auto& all = *new Numbers;  // kept: see process.h
  return all;
}

}  // namespace

int number_of(Handle handle) {
  if (handle < kFirstNumber) return static_cast<int>(handle);
  Numbers& all = numbers();
  const std::scoped_lock hold(all.lock);
  const auto [found, is_new] =
      all.numbers.try_emplace(handle, kFirstNumber + static_cast<int>(all.handles.size()));
  if (is_new) all.handles.push_back(handle);
  return found->second;
}

Handle handle_of_number(int number) {
  if (number < kFirstNumber) return number < 0 ? 0 : static_cast<Handle>(number);
  Numbers& all = numbers();
  const std::scoped_lock hold(all.lock);
  const auto place = static_cast<std::size_t>(number - kFirstNumber);
  return place < all.handles.size() ? all.handles[place] : 0;
}

}  // namespace tutti::mpi
