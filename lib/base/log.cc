// Lines to standard error, one write each.
#include "base/log.h"

#include <unistd.h>

#include <atomic>
#include <string>
#include <utility>

#include "base/printable.h"

namespace tutti::log {
namespace {

// Only words for people pass through here, so process-wide state is right: relaxed suffices.
std::atomic<int> g_rank{-1};
std::atomic<bool> g_explain{false};
std::atomic<int> g_warnings{0};
std::atomic<const char* (*)()> g_caller{nullptr};
thread_local const char* t_call = nullptr;
constexpr int kMostWarnings = 1000;

void put(std::string_view line) {
  const int rank = g_rank.load(std::memory_order_relaxed);
  std::string text = rank < 0 ? "tutti: " : "tutti: rank " + std::to_string(rank) + ": ";
  // Other ranks, launchers and files have said parts of it.
  text.append(text::printable_lines(line)).push_back('\n');
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

void set_rank(int rank) { g_rank.store(rank, std::memory_order_relaxed); }
void set_explain(bool on) { g_explain.store(on, std::memory_order_relaxed); }
bool explains() { return g_explain.load(std::memory_order_relaxed); }
void set_caller(const char* (*caller)()) { g_caller.store(caller, std::memory_order_relaxed); }
std::string in_call() {
  const auto caller = g_caller.load(std::memory_order_relaxed);
  const char* const name = t_call != nullptr ? t_call : caller == nullptr ? nullptr : caller();
  return name == nullptr || *name == '\0' ? "" : std::string(", in ") + name;
}
ForCall::ForCall(const char* name) : before_(std::exchange(t_call, name)) {}
ForCall::~ForCall() { t_call = before_; }
void warn(std::string_view line) {
  const int before = g_warnings.load(std::memory_order_relaxed);
  if (before > kMostWarnings) return;
  g_warnings.store(before + 1, std::memory_order_relaxed);  // two threads may count as one
  put(before < kMostWarnings ? line : "a thousand lines were said; further ones are left out");
}
void explain(std::string_view line) {
  if (explains()) put(line);
}

}  // namespace tutti::log
