// A driver that does not answer, and who says so.
//
// Whoever frees memory waits inside of the driver for all streams, and nobody else launches
// anything meanwhile (record 0062). Where one of the streams stands still for a call of ours whose
// work has to be launched, the program stands still for ever: our thread is in the driver, with the
// gate, the program's is there, too. So a thread that does nothing else looks, and says it.
#include <utility>

#include "base/futex.h"
#include "base/log.h"
#include "base/silent_driver.h"
#include "enqueue/call_queue.h"
#include "enqueue/enqueue.h"

namespace tutti::enqueue {
namespace {

using wireup::kAsks, wireup::kIsBarred, wireup::kQuestion;

constexpr int kLooksEvery_ms = 1000, kPatience_s = 10;

}  // namespace

// Only by who is inside: for what others wait in the driver, such as room in a stream of their own,
// the calls that are under way do not wait.
void CallStreams::ask(const char* function, bool is_barred) {
  if (!world_.is_inside()) return;
  // relaxed: one thread at a time is inside; the others sample.
  asked_.store(function, std::memory_order_relaxed);
  std::atomic<std::uint64_t>& asked = world_.watch().asked;
  const std::uint64_t number = asked.load(std::memory_order_relaxed) / kQuestion * kQuestion;
  asked.store(
      function == nullptr ? number : (number + kQuestion) | kAsks | (is_barred ? kIsBarred : 0),
      std::memory_order_relaxed);
}

// By looks, not by the clock: a process that was stopped meanwhile has not waited.
void CallStreams::watch() {
  world_.leave_binding();
  const std::atomic<std::uint64_t>& asked = world_.watch().asked;
  std::uint64_t seen = 0;
  int looks = 0;
  const char* told = nullptr;  // the function that has not answered
  while (!is_over_.load(std::memory_order_acquire)) {
    futex_sleep(watch_word_, 0, kLooksEvery_ms);
    const std::uint64_t now = asked.load(std::memory_order_relaxed);
    if (now == seen && (now & kAsks) != 0) {
      if (++looks >= kPatience_s && told == nullptr)
        told = say_silence(looks, (now & kIsBarred) != 0);
      continue;
    }
    if (told != nullptr)
      log::warn(std::string("the GPU's driver has answered ") + std::exchange(told, nullptr) +
                " after " + std::to_string(looks) + " s");
    seen = now;
    looks = 0;
  }
}

// Of which function it was said; null: there is nothing to say now.
const char* CallStreams::say_silence(int seconds, bool is_barred) {
  const std::string waits = oldest_call();
  const char* const function = asked_.load(std::memory_order_relaxed);
  if (waits.empty() || function == nullptr) return nullptr;
  wireup::Wireup& me = world_.wireup();
  log::warn(std::string("on host ") +
            me.segment().host(static_cast<std::uint32_t>(me.host())).name +
            " the GPU's driver has not answered " + function + " for " + std::to_string(seconds) +
            " s, and " + waits + " cannot end without" +
            (is_barred ? std::string(": ") + kSilentDriver : ""));
  return function;
}

// "MPIX_Send_enqueue in stream 0x5560 of GPU 0"; empty: all have ended, or who adds a stream is at
// it.
std::string CallStreams::oldest_call() {
  const std::unique_lock hold(mutex_, std::try_to_lock);
  if (!hold) return {};
  for (const auto& queue : queues_)
    if (const char* const call = queue->oldest_call(); call != nullptr)
      return std::string(call) + " in " + queue->name();
  return {};
}

}  // namespace tutti::enqueue
