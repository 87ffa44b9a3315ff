// Everything here runs in a signal handler of a process that is broken: no memory is taken, nothing
// is locked, and what faults again ends the process at once, since the signal is blocked.
#include "mpi/crash.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "mpi/crash_lines.h"
#include "mpi/crash_speaker.h"
#include "mpi/memory_kinds.h"
#include "mpi/place.h"
#include "mpi/process.h"
#include "wireup/protocol.h"

namespace tutti::mpi {
namespace {

constexpr std::array kSignals{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
static_assert(CrashLines::kLimitS < wireup::kLongestSpeechS);
constexpr std::size_t kMostFrames = CrashLines::kMost, kMostBytes = 16384;
constexpr std::size_t kStackBytes = 64 << 10;
constexpr std::size_t kMostLookedAt = 1 << 20;  // frames, a moment's work
// Linux keeps at least so much below the stack free of anything else (mmap_base).
constexpr std::uintptr_t kBelowStack = 128 << 20;

// Made before any handler runs. A child that the program forks is no rank, and says nothing.
struct Self {
  std::string name;
  pid_t pid = 0;
  std::uintptr_t stack_end = 0;    // below it the main thread's stack does not grow; 0: not known
  std::uintptr_t stack_bytes = 0;  // that it may have
  ProgramFile program;
};
Self& self() {
  static auto& self = *new Self;
  return self;
}

// Text of bounded length.
class Words {
 public:
  Words& operator<<(std::string_view text) {
    text = text.substr(0, text_.size() - used_);
    std::memcpy(text_.data() + used_, text.data(), text.size());
    used_ += text.size();
    return *this;
  }
  Words& number(std::uintptr_t value, unsigned base) {
    std::array<char, 24> digits{};
    std::size_t at = digits.size() - 1;
    do {
      digits[--at] = "0123456789abcdef"[value % base];
      value /= base;
    } while (value != 0);
    return *this << (base == 16 ? "0x" : "") << digits.data() + at;
  }
  void write_to(int fd) {
    if (::write(fd, text_.data(), std::exchange(used_, 0)) < 0)
      return;  // nobody is left to be told
  }

 private:
  std::array<char, kMostBytes> text_{};
  std::size_t used_ = 0;
};

// Return addresses, from the function that received the signal outwards. A function that calls
// itself is one frame, so that the program's main is seen behind it.
struct CrashFrame {
  void* at = nullptr;
  std::uintptr_t times = 0;
  Dl_info in{};  // of the file it lies in; without a base: not known
  std::string_view place;
  bool is_looked_up = false;
};
struct CrashStack {
  const void* entry;  // where the handler returns to: frames up to there are the signal's own
  bool is_past_entry = false;
  std::array<CrashFrame, kMostFrames> frames{};
  std::size_t count = 0;
  std::size_t looked_at = 0;
};

_Unwind_Reason_Code add_frame(_Unwind_Context* context, void* into) {
  CrashStack& stack = *static_cast<CrashStack*>(into);
  void* const at = reinterpret_cast<void*>(_Unwind_GetIP(context));
  const bool is_outermost = at == nullptr && stack.count != 0;  // behind the last function
  if (stack.is_past_entry && !is_outermost) {
    if (stack.count == 0 || stack.frames[stack.count - 1].at != at)
      stack.frames[stack.count++].at = at;
    ++stack.frames[stack.count - 1].times;
  }
  stack.is_past_entry = stack.is_past_entry || at == stack.entry;
  const bool is_enough = stack.count == stack.frames.size() || ++stack.looked_at == kMostLookedAt;
  return is_enough ? _URC_END_OF_STACK : _URC_NO_REASON;
}

// A return address may be past its function's end already; the first frame's is no such.
char* place_of(const CrashStack& stack, std::size_t frame) {
  return static_cast<char*>(stack.frames[frame].at) - (frame == 0 ? 0 : 1);
}

// Where in their sources those frames are that lie in this file.
void look_up_in(CrashStack& stack, const Dl_info& file, CrashLines& lines) {
  std::array<SourcePlace, kMostFrames> places;
  std::array<CrashFrame*, kMostFrames> whose{};
  std::size_t count = 0;
  for (std::size_t i = 0; i < stack.count; ++i) {
    if (stack.frames[i].in.dli_fbase != file.dli_fbase) continue;
    whose[count] = &stack.frames[i];
    places[count++].address = address_in_file(place_of(stack, i), file);
  }
  lines.ask(self().program.path_of(file), std::span(places).first(count));
  for (std::size_t i = 0; i < count; ++i) {
    whose[i]->place = places[i].line;
    whose[i]->is_looked_up = true;
  }
}

// Which files the frames lie in, and where in their sources. Not in this library's, whose
// functions have names. The program is asked first: a library may take all the time there is.
void look_up(CrashStack& stack, const void* library, CrashLines& lines) {
  for (std::size_t i = 0; i < stack.count; ++i) {
    Dl_info& file = stack.frames[i].in;
    if (::dladdr(place_of(stack, i), &file) == 0) file = {};
  }
  for (const bool is_program : {true, false})
    for (std::size_t i = 0; i < stack.count; ++i) {
      const CrashFrame& frame = stack.frames[i];
      const void* const file = frame.in.dli_fbase;
      const bool is_asked = file != nullptr && file != library && !frame.is_looked_up;
      if (is_asked && is_program == (file == self().program.begin))
        look_up_in(stack, frame.in, lines);
    }
}

void say_frame(Words& words, const CrashFrame& frame) {
  char* const at = static_cast<char*>(frame.at);
  words << "    ";
  if (frame.in.dli_fbase == nullptr) {
    words.number(reinterpret_cast<std::uintptr_t>(at), 16) << "\n";
    return;
  }
  if (!frame.place.empty()) {
    words << frame.place << " ";
  } else if (frame.in.dli_sname != nullptr) {
    words << frame.in.dli_sname << "+";
    words.number(static_cast<std::uintptr_t>(at - static_cast<char*>(frame.in.dli_saddr)), 16)
        << " ";
  }
  words << "(" << frame.in.dli_fname << "+";
  words.number(address_in_file(at, frame.in), 16) << ")";
  if (frame.times > 1) (words << " ").number(frame.times, 10) << " times";
  words << "\n";
}

// Its frames, those of this library last. With a head of its own: others' lines may come between.
void say_stack(Words& words, CrashStack& stack) {
  words << "the stack of " << self().name.c_str() << ", the program's frames first:\n";
  Dl_info library{};
  ::dladdr(reinterpret_cast<const void*>(&watch_for_crashes), &library);
  CrashLines lines;
  look_up(stack, library.dli_fbase, lines);
  for (const bool ours : {false, true})
    for (std::size_t i = 0; i < stack.count; ++i)
      if (ours == (stack.frames[i].in.dli_fbase == library.dli_fbase))
        say_frame(words, stack.frames[i]);
  if (lines.has_answered() && !lines.is_late() && !lines.is_full()) return;
  words << "    ";
  if (lines.is_late())
    (words << "addr2line took longer than ").number(CrashLines::kLimitS, 10) << " s; ";
  else if (lines.is_full())
    words << "addr2line said more than there is room for; ";
  words << "addr2line -e FILE +ADDRESS names lines\n";
}

// The program uses GPUs, and this process takes none of their memory: perhaps it was given some.
bool may_be_gpu_memory() {
  if (process.world == nullptr || function_under_way() == nullptr ||
      looks_for_memory(MemoryKind::cuda))
    return false;
  return ::dl_iterate_phdr(
             [](dl_phdr_info* library, std::size_t, void*) {
               return std::strstr(library->dlpi_name, "libcuda.so") != nullptr ? 1 : 0;
             },
             nullptr) != 0;
}

void say_place(Words& words, int signal, const siginfo_t& info) {
  words << self().name.c_str() << " dies by signal ";
  words.number(static_cast<std::uintptr_t>(signal), 10) << " (" << ::sigdescr_np(signal) << ")";
  if (info.si_code > 0 && (signal == SIGSEGV || signal == SIGBUS)) {
    words << " at address ";
    words.number(reinterpret_cast<std::uintptr_t>(info.si_addr), 16);
  }
  const char* const function = function_under_way();
  if (function == nullptr)
    words << ", outside MPI";
  else
    words << ", in " << function;
  const auto at = reinterpret_cast<std::uintptr_t>(info.si_addr);
  if (signal == SIGSEGV && info.si_code > 0 && at < self().stack_end &&
      self().stack_end - at <= kBelowStack) {
    words << ", because its stack of ";
    words.number(self().stack_bytes >> 10, 10) << " KiB is full (ulimit -s)";
  }
  words << "\n";
}

void say_last_words(int signal, const siginfo_t& info, const void* entry) {
  static constinit Words words;  // other threads may have small stacks, and one speaks
  say_place(words, signal, info);
  // What follows takes a while, and a lock of the loader's, which another thread may hold.
  words.write_to(STDERR_FILENO);
  CrashStack stack{.entry = entry};
  _Unwind_Backtrace(&add_frame, &stack);
  say_stack(words, stack);
  words.write_to(STDERR_FILENO);
  if (signal != SIGSEGV || !may_be_gpu_memory()) return;  // asks the loader once more
  words << "    if that is GPU memory: this process takes none, look at TUTTI_GPU_SUPPORT and what "
           "tutti-info says of GPU memory\n";
  words.write_to(STDERR_FILENO);
}

void on_crash(int signal, siginfo_t* info, void* /*context*/) {
  ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);  // writing would end the thread only
  if (::getpid() == self().pid && is_to_speak(signal))
    say_last_words(signal, *info, __builtin_return_address(0));
  end_by(signal);  // blocked until the handler returns
}

// Where the main thread's stack may end; other threads have no stack for the handler anyway.
void note_stack() {
  rlimit limit{};
  pthread_attr_t facts;
  if (::getpid() != ::gettid() || ::getrlimit(RLIMIT_STACK, &limit) != 0 ||
      limit.rlim_cur == RLIM_INFINITY || ::pthread_getattr_np(::pthread_self(), &facts) != 0)
    return;
  void* lowest = nullptr;
  std::size_t bytes = 0;
  if (::pthread_attr_getstack(&facts, &lowest, &bytes) == 0) {
    self().stack_end = reinterpret_cast<std::uintptr_t>(lowest);
    self().stack_bytes = limit.rlim_cur;
  }
  ::pthread_attr_destroy(&facts);
}

}  // namespace

void let_last_words_be_said() {
  if (::getpid() == self().pid) end_behind_speaker();
}

void watch_for_crashes(std::string who) {
  self().name = std::move(who);
  self().pid = ::getpid();
  note_stack();
  self().program = program_file();
  // A stack that overflowed has no room for a handler.
  static std::array<char, kStackBytes> room;
  stack_t other{}, before{};
  other.ss_sp = room.data();
  other.ss_size = room.size();
  if (::sigaltstack(nullptr, &before) == 0 && (before.ss_flags & SS_DISABLE) != 0)
    ::sigaltstack(&other, nullptr);
  struct sigaction ours {
  }, found{};
  ours.sa_sigaction = &on_crash;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigfillset(&ours.sa_mask);
  for (const int signal : kSignals)
    if (::sigaction(signal, nullptr, &found) == 0 && (found.sa_flags & SA_SIGINFO) == 0 &&
        found.sa_handler == SIG_DFL)
      ::sigaction(signal, &ours, nullptr);
}

}  // namespace tutti::mpi
