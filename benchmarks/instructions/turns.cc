// Turns: contexts are made once; from then on _setjmp and _longjmp switch, without a system call.
#include "instructions/turns.h"

#include <setjmp.h>
#include <ucontext.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "instructions/counters.h"

namespace tutti::ruler {
namespace {

constexpr std::size_t kStackBytes = 1 << 20;
constexpr int kTurnsInVain = 100'000;

struct Runner {
  ucontext_t context{};
  jmp_buf place{};
  bool has_begun = false;
  bool has_ended = true;
  std::vector<std::byte> stack;
};

constexpr int kNobody = 2;        // the program itself, which waits for the others
std::array<Runner, 3> g_runners;  // rank 0, rank 1, nobody
int g_current = kNobody;          // whose turn it is
const std::function<void(int)>* g_body;
bool g_is_counted = false;
int g_in_vain = 0;

void count_if_asked() {
  if (g_is_counted) count();
}
void pause_if_asked() {
  if (g_is_counted) pause();
}

// Returns when somebody switches back.
void switch_to(int next) {
  Runner& from = g_runners[static_cast<std::size_t>(g_current)];
  Runner& to = g_runners[static_cast<std::size_t>(next)];
  g_current = next;
  if (_setjmp(from.place) != 0) return;
  if (to.has_begun) _longjmp(to.place, 1);
  to.has_begun = true;
  setcontext(&to.context);
}

// The life of a rank: one body after the other.
void live() {
  const int rank = g_current;
  for (;;) {
    count_if_asked();
    (*g_body)(rank);
    pause_if_asked();
    g_runners[static_cast<std::size_t>(rank)].has_ended = true;
    const int other = 1 - rank;
    switch_to(g_runners[static_cast<std::size_t>(other)].has_ended ? kNobody : other);
  }
}

void make(Runner& runner) {
  runner.stack.resize(kStackBytes);
  getcontext(&runner.context);
  runner.context.uc_stack.ss_sp = runner.stack.data();
  runner.context.uc_stack.ss_size = runner.stack.size();
  makecontext(&runner.context, live, 0);
}

}  // namespace

void run_both(const std::function<void(int)>& body, bool is_counted) {
  g_body = &body;
  g_is_counted = is_counted;
  g_runners[kNobody].has_begun = true;
  for (int rank = 0; rank < 2; ++rank) {
    Runner& runner = g_runners[static_cast<std::size_t>(rank)];
    if (runner.stack.empty()) make(runner);
    runner.has_ended = false;
  }
  g_in_vain = 0;
  switch_to(0);
}

void turn() {
  if (g_current == kNobody) return;
  const int other = 1 - g_current;
  pause_if_asked();
  if (++g_in_vain > kTurnsInVain) {
    std::fprintf(stderr, "the ranks wait for each other; this row does not end\n");
    std::abort();
  }
  if (!g_runners[static_cast<std::size_t>(other)].has_ended) switch_to(other);
  count_if_asked();
}

void moved() {
  g_in_vain = 0;
}

}  // namespace tutti::ruler
