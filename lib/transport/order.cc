// The transports there are, in order of preference. A new one is one line here.
#include "transport/cuda_ipc/cuda_ipc.h"
#include "transport/opened.h"
#include "transport/self/self.h"
#include "transport/shm/shm.h"
#include "transport/tcp/tcp.h"
#if defined(TUTTI_HAS_UCX)
#include "transport/ucx/ucx.h"
#endif
#include "wireup/wireup.h"

namespace tutti::transport {
namespace {

struct TransportRow {
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

constexpr TransportRow kOrder[] = {
    {"self", self::open}, {"shm", shm::open}, {"cuda_ipc", ipc::open_cuda},
    {"ucx", open_ucx},    {"tcp", tcp::open},
};

// Between hosts only a link that can protect data is used where that was asked for.
Result<void> check_security(const Surroundings& around) {
  const std::string& security = around.knobs->text("TUTTI_LINK_SECURITY");
  if (security == "none" || around.wireup->segment().header().hosts < 2) return {};
  for (const std::string& name : named_links(*around.knobs))
    if (name == "ucx")
      return fail(Code::arg, "TUTTI_LINK names ucx, which cannot give TUTTI_LINK_SECURITY=" +
                                 security + " between hosts; unset one of them, or name tcp");
  return {};
}

void add(Opened& opened, std::unique_ptr<Transport> transport) {
  Transport& first = *transport;
  opened.transports.push_back(std::move(transport));
  for (int number = 1; auto rail = first.rail(number); ++number)
    opened.transports.push_back(std::move(rail));
}

}  // namespace

Opened open_all(const Surroundings& around) {
  Opened opened;
  if (const auto possible = check_security(around); !possible) {
    opened.left_out.push_back(possible.error().text);
    return opened;
  }
  const std::vector<std::string> named = named_links(*around.knobs);
  for (const TransportRow& kind : kOrder) {
    if (kind.open != &self::open && !allows(named, kind.name)) {
      opened.unnamed.emplace_back(kind.name);
      continue;
    }
    auto transport = kind.open(around);
    if (transport) {
      add(opened, std::move(*transport));
      continue;
    }
    // What the user has said wrong stands first.
    auto& left_out = opened.left_out;
    left_out.insert(transport.error().code == Code::arg ? left_out.begin() : left_out.end(),
                    std::string(kind.name) + ": " + transport.error().text);
  }
  return opened;
}

}  // namespace tutti::transport
