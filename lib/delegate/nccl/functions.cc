// dlopen of libnccl.
#include "delegate/nccl/functions.h"

#include <dlfcn.h>

#include "topo/gpu_libraries.h"

namespace tutti::delegate::nccl {
namespace {

constexpr int kOldest = NCCL_VERSION(2, 14, 0);  // communicators that do not block

template <class Function>
Result<void> look_up(void* library, const char* name, Function*& member) {
  member = reinterpret_cast<Function*>(::dlsym(library, name));
  if (member != nullptr) return {};
  return fail(Code::unsupported, std::string("libnccl.so.2 has no ") + name + ": too old");
}

}  // namespace

Result<Functions> Functions::open() {
  void* const library = ::dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return fail(Code::unsupported, "libnccl.so.2 cannot be opened: " + std::string(::dlerror()));
  Functions all;
#define TUTTI_NCCL_LOOK_UP(name) TUTTI_DO(look_up(library, #name, all.name));
  TUTTI_NCCL_FUNCTIONS(TUTTI_NCCL_LOOK_UP)
#undef TUTTI_NCCL_LOOK_UP
  if (const ncclResult_t said = all.ncclGetVersion(&all.version); said != ncclSuccess)
    return fail(Code::unsupported,
                std::string("ncclGetVersion says ") + all.text_of(said, nullptr));
  if (all.version < kOldest)
    return fail(Code::unsupported,
                "NCCL " + all.version_text() + " is older than 2.14, whose calls do not block");
  return all;
}

std::string Functions::version_text() const {
  return topo::nccl_version(version);
}

std::string Functions::text_of(ncclResult_t result, ncclComm_t comm) const {
  const char* const last = ncclGetLastError(comm);
  std::string text = ncclGetErrorString(result);
  if (last != nullptr && *last != '\0') text += std::string(": ") + last;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace tutti::delegate::nccl
