// The transports there are, in order of preference. A new one is one line here.
#include "transport/opened.h"
#include "transport/self/self.h"
#include "transport/shm/shm.h"
#include "transport/tcp/tcp.h"
#if defined(TUTTI_HAS_UCX)
#include "transport/ucx/ucx.h"
#endif

namespace tutti::transport {
namespace {

struct Kind {
  const char* name;
  Result<std::unique_ptr<Transport>> (*open)(const Surroundings& around);
};

#if defined(TUTTI_HAS_UCX)
constexpr auto open_ucx = &ucx::open;
#else
Result<std::unique_ptr<Transport>> open_ucx(const Surroundings&) {
  return fail(Code::other, "this build has none");
}
#endif

constexpr Kind kOrder[] = {
    {"self", self::open},
    {"shm", shm::open},
    {"ucx", open_ucx},
    {"tcp", tcp::open},
};

}  // namespace

Opened open_all(const Surroundings& around) {
  Opened opened;
  for (const Kind& kind : kOrder) {
    auto transport = kind.open(around);
    if (transport)
      opened.transports.push_back(std::move(*transport));
    else
      opened.left_out.push_back(std::string(kind.name) + ": " + transport.error().text);
  }
  return opened;
}

}  // namespace tutti::transport
