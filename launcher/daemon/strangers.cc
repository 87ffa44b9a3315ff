// What may pass between nodes that met without a key, where the other one may be anybody: what
// joins ranks and ends them. No program, folder, file, input, output or stack.
#include <algorithm>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/printable.h"
#include "daemon/daemon.h"

namespace tutti::launch::daemon {
namespace {

template <class T, class... Others>
constexpr bool is_one_of = (std::is_same_v<T, Others> || ...);

void keep_address(std::string& text) {
  const bool good = text.size() < 256 && std::all_of(text.begin(), text.end(), [](char c) {
                      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                             (c >= '0' && c <= '9') ||
                             std::string_view("-_.:%").find(c) != std::string_view::npos;
                    });
  if (!good) text.clear();
}

void clean(control::Prepare& prepare) {
  keep_address(prepare.name);
  prepare.machine = {};
  prepare.up_addresses.clear();
}

void clean(control::Hello& hello) {
  hello.version = text::printable(hello.version.substr(0, 40));
  for (std::string* text : {&hello.host_name, &hello.head_address, &hello.own_address})
    keep_address(*text);
  hello.machine.devices.clear();
  hello.addresses.clear();
}

// Variables that are named in a list stay; the node that hears them has the same list.
void clean(control::Launch& launch) {
  for (control::AppPart& app : launch.apps) {
    control::AppPart numbers;
    numbers.environment = std::move(app.environment);
    std::erase_if(numbers.environment,
                  [](const control::Variable& one) { return !one.name.starts_with("TUTTI_"); });
    app = std::move(numbers);
  }
  launch.environment.clear();
  launch.output = {};
  const spec::RankSpec said = std::exchange(launch.spec, {});
  launch.spec.universe = said.universe;
  launch.spec.max_restarts = said.max_restarts;
  launch.spec.master_address = said.master_address;
  launch.spec.master_port = said.master_port;
  launch.spec.costs = said.costs;
  for (control::RankPart& rank : launch.ranks) rank.takes_stdin = false;
}

void clean(control::RankEnded& report) {
  report.reason.clear();
  report.last_lines.clear();
}

void clean(control::RankAborts& report) {
  report.reason = "its own node says why";
}

void clean(control::DaemonFailed& report) {
  report.reason = "it could not go on; its own node says why";
}

template <class T>
void clean(T&) {}

}  // namespace

std::optional<control::Message> numbers_only(control::Message message) {
  const bool passes = std::visit(
      [](auto& what) {
        clean(what);
        return is_one_of<std::decay_t<decltype(what)>, control::Prepare, control::Hello,
                         control::Launch, control::Started, control::Addresses, control::RankEnded,
                         control::RankAborts, control::Gone, control::Signal, control::End,
                         control::Heartbeat, control::Bye, control::DaemonFailed>;
      },
      message);
  if (!passes) return std::nullopt;
  return message;
}

}  // namespace tutti::launch::daemon
