// What fails, as the stand-in was told or by its own judgement, and the words for it.
#include <cstdio>
#include <cstdlib>
#include <mutex>

#include "standin_nccl.h"

namespace standin_nccl {
namespace {

thread_local std::string last_error;
// What failed last in threads of ours.
class SharedError {
 public:
  void set(std::string_view why) {
    const std::scoped_lock hold(mutex_);
    text_ = why;
  }
  std::string get() {
    const std::scoped_lock hold(mutex_);
    return text_;
  }

 private:
  std::mutex mutex_;
  std::string text_;
};
SharedError& shared_error() {
  static auto& only = *new SharedError;
  return only;
}
std::atomic<unsigned long long> failed{0};

// STANDIN_NCCL_FAIL=function:call:result[:rank]: that call of the function, and those after it,
// fail so; "work" is the work in the stream, whose failure the communicator tells later.
struct Failure {
  std::string function;
  int from = 1;
  int result = 0;
};
const Failure& failure() {
  static const Failure read = [] {
    Failure made;
    const char* const given = std::getenv("STANDIN_NCCL_FAIL");
    const char* const mine = std::getenv("RANK");
    char name[64] = "";
    int rank = -1;
    if (given == nullptr ||
        std::sscanf(given, "%63[^:]:%d:%d:%d", name, &made.from, &made.result, &rank) < 3)
      return made;
    if (rank < 0 || (mine != nullptr && std::atoi(mine) == rank)) made.function = name;
    return made;
  }();
  return read;
}

}  // namespace

ncclResult_t told_to(const char* function) {
  static std::atomic<int> calls{0};
  const Failure& told = failure();
  if (told.function != function || ++calls < told.from) return ncclSuccess;
  ++failed;
  last_error = std::string(function) + " fails as the stand-in was told";
  shared_error().set(last_error);
  return static_cast<ncclResult_t>(told.result);
}

ncclResult_t refuse(ncclResult_t result, const std::string& why) {
  last_error = why;
  return result;
}

void note_error(std::string_view why) {
  shared_error().set(why);
}

const char* last_words() {
  if (last_error.empty()) last_error = shared_error().get();
  return last_error.c_str();
}

}  // namespace standin_nccl

extern "C" unsigned long long tutti_standin_nccl_failed() {
  return standin_nccl::failed.load();
}
