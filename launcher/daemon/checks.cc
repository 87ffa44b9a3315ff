// Examining this host and probing others may take long: a child of the daemon does each.
#include "daemon/checks.h"

#include <utility>
#include <variant>

namespace tutti::launch::daemon {
namespace {

constexpr std::chrono::seconds kExamineLimit{30};
constexpr std::chrono::seconds kProbeLimit{60};

}  // namespace

void Checks::examine(int host, const control::Examine& wish, const InfoProgram& info) {
  const int port = listener_.listen(host, wish.token);
  background_.run([wish, info] { return control::encode(examine_host(wish, info)); }, kExamineLimit,
                  [this, port](const std::string& bytes) {
                    auto message = control::decode(bytes);
                    control::Findings* found =
                        message ? std::get_if<control::Findings>(&*message) : nullptr;
                    control::Findings late;
                    late.all = {{"host", control::kBad, "could not be examined in 30 s",
                                 "do its name servers and its disks answer?"}};
                    if (found == nullptr) found = &late;
                    found->port = port;
                    say_(*found);
                  });
}

void Checks::probe(const control::Probe& wish) {
  background_.run([wish] { return control::encode(send_probes(wish)); }, kProbeLimit,
                  [this, to = wish.to](const std::string& bytes) {
                    auto message = control::decode(bytes);
                    const control::Probed* probed =
                        message ? std::get_if<control::Probed>(&*message) : nullptr;
                    say_(probed != nullptr ? *probed : control::Probed{to, {}});
                  });
}

}  // namespace tutti::launch::daemon
