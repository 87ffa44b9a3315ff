// Clone, bind, exec. The child shares the daemon's memory and descriptors until its exec: nothing
// is copied, so that a thousand ranks start as fast each as two. What it does is in child.cc; all
// that it reads is made here, before.
//
// Several children are on their way at a time, each from a launch pad: its stack, and what it
// reads. The kernel clears a word of the pad when the child leaves our memory. (To wait for each,
// as vfork does, let the first of two ranks run to its end before the second began: the daemon was
// woken on the processor that the child had just taken.)
#include "daemon/launch.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>

#include "base/environment.h"
#include "base/shortage.h"
#include "daemon/child.h"
#include "daemon/processes.h"
#include "daemon/pty.h"

namespace tutti::launch::daemon {
namespace {

// The daemon's ends of the pipes lie above this; the low numbers are those that a child takes.
constexpr int kOwnEnds = 1024;

// A program begins within a millisecond; one that takes this long is looked at again by and by.
constexpr long kMomentNs = 20'000'000;

// Memory that parent and child see: whether the child is still here, why exec failed, its stack.
class SharedWithChild {
 public:
  SharedWithChild()
      : at_(::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {}
  SharedWithChild(const SharedWithChild&) = delete;
  SharedWithChild& operator=(const SharedWithChild&) = delete;
  ~SharedWithChild() {
    if (is_there()) ::munmap(at_, kBytes);
  }
  bool is_there() const { return at_ != MAP_FAILED; }
  volatile int* error() const { return static_cast<volatile int*>(at_); }
  pid_t* here() const { return static_cast<pid_t*>(at_) + 1; }
  void* stack_top() const { return static_cast<char*>(at_) + kBytes; }

  // The child runs its program or has given up.
  bool has_left() const {
    // acquire: pairs with the kernel's clearing, after all that the child stored.
    return std::atomic_ref<pid_t>(*here()).load(std::memory_order_acquire) == 0;
  }
  // Until then, or for a moment.
  void wait() const {
    const timespec moment{0, kMomentNs};
    if (!has_left()) ::syscall(SYS_futex, here(), FUTEX_WAIT, 1, &moment, nullptr, 0);
  }

 private:
  static constexpr std::size_t kBytes = 64U << 10;
  void* at_;
};

struct Pipe {
  UniqueFd read, write;
};

bool make_pipe(Pipe* out) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return false;
  out->read.reset(ends[0]);
  out->write.reset(ends[1]);
  return true;
}

// Like two pipes, whose ends of the child are one: that of the output.
bool make_pty(const control::Window& window, Pipe* output, Pipe* input) {
  if (!open_pty(window, &output->read, &output->write)) return false;
  input->write.reset(::fcntl(output->read.get(), F_DUPFD_CLOEXEC, 3));
  return input->write.is_open();
}

// The daemon's end of a pipe: out of the way of the children, and never blocking.
UniqueFd own_end(UniqueFd fd) {
  if (!fd.is_open()) return fd;
  UniqueFd moved(::fcntl(fd.get(), F_DUPFD_CLOEXEC, kOwnEnds));
  if (!moved.is_open()) moved = std::move(fd);  // a low limit of open files
  ::fcntl(moved.get(), F_SETFL, O_NONBLOCK);
  return moved;
}

Result<void> no_descriptors() {
  return fail(Code::other, std::string("cannot make pipes for a rank: ") + std::strerror(errno) +
                               "; raise the limit of open files (ulimit -n)");
}

int run_child(void* child) {
  become_rank(*static_cast<const Child*>(child));
}

// Bit `number` of the mask; false: it has none.
template <std::size_t kWords>
bool set_bit(std::array<unsigned long, kWords>& mask, int number) {
  constexpr std::size_t kBits = sizeof(unsigned long) * CHAR_BIT;
  const auto bit = static_cast<std::size_t>(number);
  if (number < 0 || bit >= kWords * kBits) return false;
  mask[bit / kBits] |= 1UL << (bit % kBits);
  return true;
}

pid_t clone_child(Child& child, const SharedWithChild& shared) {
  sigset_t all, before;
  ::sigfillset(&all);
  ::sigprocmask(SIG_BLOCK, &all, &before);  // no handler runs on memory that two use
  pid_t pid = -1;
  *shared.error() = 0;
  *shared.here() = kSharesMemory ? 1 : 0;
  if (kSharesMemory) {
    constexpr int kHow = CLONE_VM | CLONE_FILES | CLONE_CHILD_CLEARTID | SIGCHLD;
    pid = ::clone(run_child, shared.stack_top(), kHow, &child, nullptr, nullptr, shared.here());
  } else {
    pid = static_cast<pid_t>(
        ::syscall(SYS_clone, CLONE_VFORK | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
    if (pid == 0) become_rank(child);
  }
  const int error = errno;
  if (pid < 0) *shared.here() = 0;
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return pid;
}

}  // namespace

RankFds rank_fds(rlim_t most_open_files) {
  RankFds fds;
  if (most_open_files <= static_cast<rlim_t>(fds.server)) {
    fds.server = static_cast<int>(most_open_files) - 1;
    fds.control = fds.server - 1;
    fds.segment = fds.server - 2;
  }
  return fds;
}

// A child on its way, and all that it reads.
struct RankStarter::LaunchPad {
  SharedWithChild shared;
  RankProcess* rank = nullptr;  // null: the pad is free
  RankStart start;
  std::vector<char*> argv, shell_argv, environment;
  Pipe input, output, errors;  // the child's ends
  UniqueFd control;
  Child child{};
};

RankStarter::RankStarter(Runs runs) : runs_(std::move(runs)) {}
RankStarter::~RankStarter() = default;

// Whoever is still in a pad is gone from it, or for a moment waited for.
bool RankStarter::free(LaunchPad& pad, bool waits) {
  if (pad.rank == nullptr) return true;
  if (waits) pad.shared.wait();
  if (!pad.shared.has_left()) return false;
  RankProcess& rank = *std::exchange(pad.rank, nullptr);
  rank.exec_error = *pad.shared.error();
  for (Pipe* pipe : {&pad.input, &pad.output, &pad.errors}) *pipe = {};
  pad.control.reset();
  pad.start = {};
  runs_(rank);
  return true;
}

// The oldest first: it is the next that begins.
bool RankStarter::make_room() {
  if (pads_.size() < kAtOnce) {
    pads_.push_back(std::make_unique<LaunchPad>());
    std::rotate(pads_.begin(), pads_.end() - 1, pads_.end());
    return true;
  }
  return free(*pads_.front(), true);
}

bool RankStarter::drain() {
  return std::all_of(pads_.begin(), pads_.end(),
                     [this](const auto& pad) { return free(*pad, true); });
}

void RankStarter::on_ended(const RankProcess& rank) {
  for (const auto& pad : pads_)
    if (pad->rank == &rank) free(*pad, true);
}

Result<void> RankStarter::start(RankProcess& rank, RankStart how) {
  std::rotate(pads_.begin(), pads_.begin() + 1, pads_.end());
  LaunchPad& pad = *pads_.back();
  const bool takes_input = rank.part.takes_stdin && !rank.part.on_pty;
  if (!takes_input && !nothing_.is_open())
    nothing_.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!takes_input && !nothing_.is_open())
    return fail(Code::other, std::string("cannot open /dev/null: ") + std::strerror(errno));
  int sockets[2];
  how.merge_stderr = how.merge_stderr || rank.part.on_pty;
  if (!pad.shared.is_there() || (takes_input && !make_pipe(&pad.input)) ||
      !(rank.part.on_pty ? make_pty(how.window, &pad.output, &pad.input)
                         : make_pipe(&pad.output)) ||
      (!how.merge_stderr && !make_pipe(&pad.errors)) ||
      ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0)
    return no_descriptors();
  rank.control = own_end(UniqueFd(sockets[0]));
  name_senders(rank.control.get());
  pad.control.reset(sockets[1]);
  rank.input = own_end(std::move(pad.input.write));
  rank.output[0] = own_end(std::move(pad.output.read));
  rank.output[1] = own_end(std::move(pad.errors.read));
  pad.start = std::move(how);
  fill(pad, rank);
  rank.pid = clone_child(pad.child, pad.shared);
  if (rank.pid < 0) return fail(Code::other, no_process(errno));
  pad.rank = &rank;
  return {};
}

void RankStarter::fill(LaunchPad& pad, const RankProcess& rank) const {
  const RankStart& start = pad.start;
  pad.argv = pointers_to(start.more_argv.empty() ? *start.argv : start.more_argv);
  pad.shell_argv = pad.argv;
  pad.shell_argv[0] = const_cast<char*>(start.path.c_str());
  pad.shell_argv.insert(pad.shell_argv.begin(), const_cast<char*>("/bin/sh"));
  pad.environment = pointers_to(start.environment);
  const int stdout_fd = pad.output.write.get();
  const int stdin_fd = rank.part.on_pty ? stdout_fd : pad.input.read.get();
  pad.child = {start.path.c_str(),
               start.directory.c_str(),
               pad.argv.data(),
               pad.shell_argv.data(),
               pad.environment.data(),
               {stdin_fd >= 0 ? stdin_fd : nothing_.get(), stdout_fd,
                start.merge_stderr ? stdout_fd : pad.errors.write.get()},
               start.segment_fd,
               pad.control.get(),
               start.server.get(),
               start.as,
               pad.shared.error(),
               ::getpid(),
               {},
               {},
               &start.open_files,
               start.by_shell,
               rank.part.on_pty,
               false,
               false};
  pad.child.binds = !rank.part.cpus.empty();  // to none that there is: the kernel refuses that
  for (const int cpu : rank.part.cpus) set_bit(pad.child.processors, cpu);
  for (const int node : rank.part.nodes) pad.child.binds_memory |= set_bit(pad.child.memory, node);
}

}  // namespace tutti::launch::daemon
