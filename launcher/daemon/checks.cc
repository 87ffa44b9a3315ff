// Examining this host and probing others may take long: a child of the daemon does each.
#include "daemon/checks.h"

#include <utility>
#include <variant>

namespace tutti::launch::daemon {
namespace {

constexpr std::chrono::seconds kExamineLimit{30};
constexpr std::chrono::seconds kProbesLimit{60};

// Or that there is none.
control::Findings findings_in(const Result<std::string>& answer) {
  const std::string why = answer ? "its answer was cut off" : answer.error().text;
  auto message = control::decode(answer ? *answer : "");
  if (message)
    if (auto* const found = std::get_if<control::Findings>(&*message)) return std::move(*found);
  control::Findings none;
  none.all = {{"host", control::kBad, "could not be examined: " + why,
               "do its name servers and its disks answer, and is there room for processes?"}};
  return none;
}

}  // namespace

void Checks::examine(int host, const control::Examine& wish, const InfoProgram& info) {
  const int port = listener_.listen(host, wish.token);
  background_.run([wish, info] { return control::encode(examine_host(wish, info)); }, kExamineLimit,
                  [this, port](const Result<std::string>& answer) {
                    control::Findings found = findings_in(answer);
                    found.port = port;
                    say_(found);
                  });
}

void Checks::probe(const control::Probe& wish) {
  background_.run([wish] { return control::encode(send_probes(wish)); }, kProbesLimit,
                  [this, to = wish.to](const Result<std::string>& answer) {
                    auto message = control::decode(answer ? *answer : "");
                    const control::Probed* probed =
                        message ? std::get_if<control::Probed>(&*message) : nullptr;
                    say_(probed != nullptr ? *probed : control::Probed{to, {}});
                  });
}

}  // namespace tutti::launch::daemon
