// closed_library LIBRARY -- opens MPI's library itself, uses it, closes it again, and then crashes:
// what the library has installed in this process, its words on a crash and threads of its own among
// it, is still there.
#include <dlfcn.h>

#include <csignal>
#include <cstdio>

namespace {

template <class Function>
Function* found(void* library, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(library, name));
}

}  // namespace

int main(int /*argc*/, char** argv) {
  void* const library = ::dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", ::dlerror());
    return 1;
  }
  if (found<int(int*, char***)>(library, "MPI_Init")(nullptr, nullptr) != 0) return 2;
  if (found<int()>(library, "MPI_Finalize")() != 0) return 3;
  if (::dlclose(library) != 0) return 4;
  return std::raise(SIGSEGV);
}
