// Clone, bind, exec. The child shares the daemon's memory and descriptors until its exec, which
// the daemon waits for (as vfork does it): nothing is copied, so that a thousand ranks start as
// fast each as two. It makes only async-signal-safe calls and changes nothing of the daemon's:
// everything that needs memory is made before, and its first deed is a table of descriptors of
// its own, without those of the other ranks. It dies with the daemon (parent-death signal) and
// leads a process group of its own, so that a signal reaches what it starts, too.
#include "daemon/launch.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <iterator>

#include "base/text.h"
#include "job/exit_status.h"
#include "topo/topo.h"

namespace tutti::launch {
namespace {

// A sanitizer's child must not run on the memory of its parent.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSharesMemory = false;
#else
constexpr bool kSharesMemory = true;
#endif

// The daemon's ends of the pipes lie above this; the low numbers are those that a child takes.
constexpr int kOwnEnds = 1024;

// Memory that parent and child see: why exec failed, and the child's stack.
class Shared {
 public:
  Shared()
      : at_(::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {}
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  ~Shared() {
    if (is_there()) ::munmap(at_, kBytes);
  }
  bool is_there() const { return at_ != MAP_FAILED; }
  volatile int* error() const { return static_cast<volatile int*>(at_); }
  void* stack_top() const { return static_cast<char*>(at_) + kBytes; }

 private:
  static constexpr std::size_t kBytes = 64U << 10;
  void* at_;
};

// All that the child needs, as plain pointers.
struct Child {
  const char* path;
  const char* directory;
  char* const* argv;
  char* const* environment;
  int stdio[3];
  int segment, control, server;
  volatile int* error;
  pid_t daemon;
  const std::vector<int>* cpus;
  unsigned long memory_nodes[16];  // bits; all 0: not bound
  const rlimit* open_files;
};

[[noreturn]] void give_up(const Child& child, int error) {
  *child.error = error;
  ::_exit(127);
}

// From here on what happens to descriptors is the child's own matter.
void own_descriptors(const Child& child) {
  if (!kSharesMemory) return;
  const int last = std::max(
      {child.stdio[0], child.stdio[1], child.stdio[2], child.segment, child.control, child.server});
  constexpr unsigned kUnshare = 2;  // CLOSE_RANGE_UNSHARE: the others are not even copied
  if (::syscall(SYS_close_range, static_cast<unsigned>(last) + 1, ~0U, kUnshare) == 0) return;
  if (::unshare(CLONE_FILES) != 0) give_up(child, errno);
}

// prun passes these signals on, so a rank must hear them even when the shell that started prun
// in the background made it ignore them.
void restore_signals() {
  for (const int signal : {SIGPIPE, SIGXFSZ, SIGINT, SIGQUIT, SIGTERM})
    std::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// A kernel without the call, or a node that is not there, leaves the memory unbound.
void bind_memory(const Child& child) {
  constexpr int kBind = 2;  // MPOL_BIND
  const bool any = std::any_of(std::begin(child.memory_nodes), std::end(child.memory_nodes),
                               [](unsigned long bits) { return bits != 0; });
  if (any)
    ::syscall(SYS_set_mempolicy, kBind, child.memory_nodes, sizeof child.memory_nodes * CHAR_BIT);
}

[[noreturn]] void become_rank(const Child& child) {
  own_descriptors(child);
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != child.daemon) ::_exit(127);  // it died before the line above
  for (int i = 0; i < 3; ++i)
    if (::dup2(child.stdio[i], i) < 0) give_up(child, errno);
  if (::dup2(child.segment, kSegmentFd) < 0 || ::dup2(child.control, kControlFd) < 0)
    give_up(child, errno);
  if (child.server >= 0 && ::dup2(child.server, kServerFd) < 0) give_up(child, errno);
  ::setrlimit(RLIMIT_NOFILE, child.open_files);
  if (::chdir(child.directory) != 0) give_up(child, errno);
  if (!child.cpus->empty() && !topo::bind_self(*child.cpus)) give_up(child, EINVAL);
  bind_memory(child);
  restore_signals();
  ::execve(child.path, child.argv, child.environment);
  if (errno == ENOEXEC) {
    // A script without its first line: the shell runs it, as everywhere.
    int count = 0;
    while (child.argv[count] != nullptr) ++count;
    char* again[1024] = {};
    if (count < 1022) {
      again[0] = const_cast<char*>("/bin/sh");
      again[1] = const_cast<char*>(child.path);
      for (int i = 1; i < count; ++i) again[i + 1] = child.argv[i];
      ::execve("/bin/sh", again, child.environment);
    }
    errno = ENOEXEC;
  }
  give_up(child, errno);
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> out;
  out.reserve(words.size() + 1);
  for (const std::string& word : words) out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

enum class Kind { program, not_executable, directory, absent };

Kind look_at(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0)
    return errno == EACCES ? Kind::not_executable : Kind::absent;
  if (S_ISDIR(status.st_mode)) return Kind::directory;
  return ::access(path.c_str(), X_OK) == 0 ? Kind::program : Kind::not_executable;
}

std::string from(const std::string& directory, const std::string& name) {
  return name.starts_with('/') ? name : directory + "/" + name;
}

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

// Returns when the child has become its program or has given up.
pid_t clone_child(Child& child, const Shared& shared) {
  sigset_t all, before;
  ::sigfillset(&all);
  ::sigprocmask(SIG_BLOCK, &all, &before);  // no handler runs on memory that two use
  pid_t pid = -1;
  if (kSharesMemory) {
    pid = ::clone(run_child, shared.stack_top(), CLONE_VM | CLONE_VFORK | CLONE_FILES | SIGCHLD,
                  &child);
  } else {
    pid = static_cast<pid_t>(
        ::syscall(SYS_clone, CLONE_VFORK | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
    if (pid == 0) become_rank(child);
  }
  const int error = errno;
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return pid;
}

}  // namespace

CannotStart find_program(const std::string& name, const std::string& search_path,
                         const std::string& directory, std::string* path) {
  const int not_executable = status_of(ExitStatus::not_executable);
  const int not_found = status_of(ExitStatus::not_found);
  if (name.find('/') != std::string::npos) {
    *path = name;
    const std::string full = from(directory, name);
    switch (look_at(full)) {
      case Kind::program:
        return {};
      case Kind::directory:
        return {not_executable, full + " is a folder, not a program"};
      case Kind::not_executable:
        return {not_executable, full + " is not executable; try chmod +x " + full};
      case Kind::absent:
        break;
    }
    return {not_found, "no program " + full + "; check its path, and that this host has it"};
  }
  std::string seen_unusable;
  for (const std::string& folder : text::split(search_path, ':')) {
    *path = (folder.empty() ? directory : from(directory, folder)) + "/" + name;
    const Kind kind = look_at(*path);
    if (kind == Kind::program) return {};
    if (kind == Kind::not_executable && seen_unusable.empty()) seen_unusable = *path;
  }
  if (!seen_unusable.empty())
    return {not_executable, seen_unusable + " is not executable; try chmod +x " + seen_unusable};
  if (look_at(directory + "/" + name) == Kind::program)
    return {not_found,
            "no program " + name + " in PATH; it is in the working folder: say ./" + name};
  return {not_found, "no program " + name + " in PATH (" + search_path + ")"};
}

Result<void> start_rank(RankProcess& rank, const RankStart& start) {
  Pipe input, output, errors;
  int sockets[2];
  const Shared shared;
  UniqueFd nothing;
  const bool takes_input = rank.part.takes_stdin;
  if (!takes_input) nothing.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!shared.is_there() || (takes_input && !make_pipe(&input)) || !make_pipe(&output) ||
      (!start.merge_stderr && !make_pipe(&errors)))
    return no_descriptors();
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0)
    return no_descriptors();
  rank.control = own_end(UniqueFd(sockets[0]));
  const UniqueFd theirs(sockets[1]);
  rank.input = own_end(std::move(input.write));
  rank.output[0] = own_end(std::move(output.read));
  rank.output[1] = own_end(std::move(errors.read));

  const std::vector<char*> argv = pointers(*start.argv);
  const std::vector<char*> environment = pointers(start.environment);
  const int stdout_fd = output.write.get();
  Child child{start.path.c_str(),
              start.directory.c_str(),
              argv.data(),
              environment.data(),
              {takes_input ? input.read.get() : nothing.get(), stdout_fd,
               start.merge_stderr ? stdout_fd : errors.write.get()},
              start.segment_fd,
              theirs.get(),
              start.server_fd,
              shared.error(),
              ::getpid(),
              &rank.part.cpus,
              {},
              &start.open_files};
  for (const int node : rank.part.nodes) {
    constexpr int kBits = sizeof(unsigned long) * CHAR_BIT;
    if (node >= 0 && node < 16 * kBits) child.memory_nodes[node / kBits] |= 1UL << (node % kBits);
  }
  rank.pid = clone_child(child, shared);
  if (rank.pid < 0)
    return fail(Code::other, std::string("cannot start a process: ") + std::strerror(errno) +
                                 "; raise the limit of processes (ulimit -u)");
  rank.exec_error = *shared.error();
  return {};
}

}  // namespace tutti::launch
