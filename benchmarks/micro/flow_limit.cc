// For LD_PRELOAD: each TCP connection of a program carries at most FLOW_GBITS, by the kernel's own
// pacing (SO_MAX_PACING_RATE), as in a network that limits flows. Several connections carry more.
//
// All on one line:
//   prun --virtual -H a:1,b:1 -np 2 -x LD_PRELOAD=build-release/benchmarks/libflow_limit.so
//     -x FLOW_GBITS=5 -x TUTTI_TCP_RAILS=3 build-release/benchmarks/bandwidth
#include <dlfcn.h>
#include <sys/socket.h>

#include <cstdint>
#include <cstdlib>

namespace {

constexpr double kBytesOfGbit = 1e9 / 8;

void limit(int socket, int family) {
  const char* const given = std::getenv("FLOW_GBITS");
  if (given == nullptr || (family != AF_INET && family != AF_INET6)) return;
  const auto rate = static_cast<std::uint64_t>(std::atof(given) * kBytesOfGbit);
  if (rate == 0 || ::setsockopt(socket, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof rate) != 0)
    std::abort();
}

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" [[gnu::visibility("default")]] int connect(int socket, const sockaddr* address,
                                                      socklen_t bytes) {
  limit(socket, address->sa_family);
  return next<int (*)(int, const sockaddr*, socklen_t)>("connect")(socket, address, bytes);
}

extern "C" [[gnu::visibility("default")]] int accept4(int listener, sockaddr* address,
                                                      socklen_t* bytes, int flags) {
  sockaddr_storage from{};
  socklen_t room = sizeof from;
  const int taken =
      next<int (*)(int, sockaddr*, socklen_t*, int)>("accept4")(listener, address, bytes, flags);
  if (taken >= 0 && ::getsockname(taken, reinterpret_cast<sockaddr*>(&from), &room) == 0)
    limit(taken, from.ss_family);
  return taken;
}
