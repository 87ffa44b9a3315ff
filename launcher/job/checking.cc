// `prun --check`: daemons are started as for a job, which proves the way to each host; instead of
// ranks they examine their host and send probes to each other. Checker judges.
#include <sys/random.h>

#include <chrono>

#include "base/check.h"
#include "base/clock.h"
#include "job/head.h"

namespace tutti::launch::job {
namespace {

std::string make_token() {
  std::array<unsigned char, 16> bytes{};
  TUTTI_CHECK(::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()),
              "no random numbers");
  std::string token;
  for (const unsigned char byte : bytes) {
    token += "0123456789abcdef"[byte >> 4];
    token += "0123456789abcdef"[byte & 15];
  }
  return token;
}

std::int64_t wall_clock_ms() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
}

}  // namespace

void Head::start_checking() {
  std::vector<std::string> names;
  for (const plan::PlannedHost& host : request_.plan.hosts) names.push_back(host.name);
  checker_ = std::make_unique<Checker>(std::move(names), make_token());
}

// Each host is examined as soon as it is there: a host that never comes holds nobody up.
void Head::examine(int index) {
  const control::Hello& hello = host(index).hello;
  std::string way = "on this machine";
  if (request_.spec.starter == cli::Starter::virtual_hosts) way = "made here";
  if (host(index).over_network)
    way = "by " + grow_message({}).agent.at(0) + " in " +
          std::to_string((now_ns() - course_.began_ns) / 1'000'000) + " ms, without a password" +
          (host(index).was_sent_daemon ? ", prund was sent and is kept there" : "");
  way += "; calls itself " + hello.host_name + ", prund " + hello.version;
  checker_->reached(index, way, host(index).noise);
  send(index, checker_->examination(wall_clock_ms()));
}

void Head::handle(int index, const control::Findings& findings) {
  if (!checker_) return;
  checker_->examined(index, findings);
  go_on_checking();
}

void Head::handle(int index, const control::Probed& probed) {
  if (!checker_) return;
  checker_->probed(index, probed);
  go_on_checking();
}

void Head::check_failed(int index, int status, const std::string& reason) {
  Host& lost = host(index);
  if (lost.left) return;
  lost.left = true;
  checker_->unreachable(index, status, reason);
  go_on_checking();
}

void Head::go_on_checking() {
  if (ending_.has_failed() || course_.state == State::leaving || course_.state == State::done)
    return look_for_end();
  if (!checker_->all_examined() || !checker_->round_is_over()) return;
  if (course_.state == State::starting) enter(State::running);
  const auto round = checker_->next_round();
  for (const auto& [from, probe] : round) send(from, probe);
  if (!round.empty()) return;
  streams_.terminal().write(1, checker_->report());
  ending_.fail(Cause::ended, checker_->status());
  enter(State::leaving);
}

}  // namespace tutti::launch::job
