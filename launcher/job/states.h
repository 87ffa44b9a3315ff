// The states of a job, as one table.
#pragma once

#include <array>
#include <chrono>

namespace tutti::launch::job {

enum class State { starting, launching, running, ending, leaving, done };

struct StateRow {
  State state;
  const char* doing;           // for the status line and for messages
  std::chrono::seconds limit;  // 0: none
  State after_failure;         // where a failure or the limit leads
};

// starting:  daemons are being started and say hello
// launching: every host has its part of the plan and starts its ranks
// running:   every program runs
// ending:    something failed; ranks are being ended, first kindly
// leaving:   all ranks have ended; daemons wait for their filters, clean up and leave
// done:      nothing is left
inline constexpr std::array kStates{
    StateRow{State::starting, "starting daemons", std::chrono::seconds{120}, State::ending},
    StateRow{State::launching, "starting ranks", std::chrono::seconds{120}, State::ending},
    StateRow{State::running, "running", std::chrono::seconds{0}, State::ending},
    StateRow{State::ending, "ending ranks", std::chrono::seconds{4}, State::leaving},
    StateRow{State::leaving, "cleaning up", std::chrono::seconds{9}, State::done},
    StateRow{State::done, "done", std::chrono::seconds{0}, State::done},
};

constexpr const StateRow& row_of(State state) {
  return kStates[static_cast<std::size_t>(state)];
}

}  // namespace tutti::launch::job
