#include "mpi/crash_speaker.h"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <ctime>

#include "wireup/protocol.h"

namespace tutti::mpi {
namespace {

// The thread that crashed first; 0: none has. Then its signal, a moment later. Relaxed: nothing is
// passed on by them.
std::atomic<pid_t> speaker{0};
std::atomic<int> crashed_by{0};
static_assert(std::atomic<pid_t>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

void unblock(int signal) {
  sigset_t one;
  ::sigemptyset(&one);
  ::sigaddset(&one, signal);
  ::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
}

// The speaker is stuck: another thread holds a lock of the loader's, or nobody reads what it says.
// Alarms of the program's own say nothing of that.
void on_long_speech(int /*signal*/, siginfo_t* info, void* /*context*/) {
  if (info->si_code != SI_TIMER || info->si_value.sival_ptr != &crashed_by) return;
  const int signal = crashed_by.load(std::memory_order_relaxed);
  end_by(signal);
  unblock(signal);
}

// By a timer whose signal is for this thread: one for the process another thread could take
// (sigwait). The system's own call takes no memory.
void limit_speech() {
  struct sigaction late {};
  late.sa_sigaction = &on_long_speech;
  late.sa_flags = SA_SIGINFO | SA_RESTART;
  ::sigaction(SIGALRM, &late, nullptr);
  sigevent to_us{};
  to_us.sigev_notify = SIGEV_THREAD_ID;
  to_us.sigev_signo = SIGALRM;
  to_us.sigev_value.sival_ptr = &crashed_by;
  to_us._sigev_un._tid = ::gettid();
  int timer = 0;
  const itimerspec limit{.it_interval = {},
                         .it_value = {.tv_sec = wireup::kLongestSpeechS, .tv_nsec = 0}};
  if (::syscall(SYS_timer_create, CLOCK_MONOTONIC, &to_us, &timer) == 0)
    ::syscall(SYS_timer_settime, timer, 0, &limit, nullptr);
  unblock(SIGALRM);
}

// Until the process ends by the speaker's signal; or until that thread must be lost, or stuck and
// without a timer.
void wait_for_speaker() {
  timespec until{};
  ::clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += wireup::kLongestSpeechS + 1;
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) continue;
}

}  // namespace

void end_by(int signal) {
  struct sigaction plain {};
  plain.sa_handler = SIG_DFL;
  ::sigaction(signal, &plain, nullptr);
  ::raise(signal);
}

bool is_to_speak(int signal) {
  pid_t first = 0;
  if (!speaker.compare_exchange_strong(first, ::gettid(), std::memory_order_relaxed)) {
    if (first != ::gettid()) wait_for_speaker();
    return false;  // or it crashed again while it spoke
  }
  crashed_by.store(signal, std::memory_order_relaxed);
  limit_speech();
  return true;
}

void end_behind_speaker() {
  if (speaker.load(std::memory_order_relaxed) == 0) return;
  wait_for_speaker();
  const int signal = crashed_by.load(std::memory_order_relaxed);
  end_by(signal);
  unblock(signal);
}

}  // namespace tutti::mpi
