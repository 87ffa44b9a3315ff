// The examinations, one function each.
#include "daemon/examine.h"

#include <arpa/inet.h>
#include <gnu/libc-version.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

#include "base/child_output.h"
#include "base/file.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "control/addresses.h"
#include "daemon/launch.h"
#include "topo/gpus.h"

namespace tutti::launch::daemon {
namespace {

constexpr std::int64_t kClockRemarkMs = 1000;
constexpr std::uint64_t kLeastShm = 64U << 20;

control::Finding clock(const control::Examine& wish) {
  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
                       std::chrono::system_clock::now().time_since_epoch())
                       .count();
  const std::int64_t apart = now - wish.head_clock_ms;
  const std::string text = std::to_string(apart) + " ms apart from prun's host";
  if (std::abs(apart) < kClockRemarkMs) return {"clock", control::kGood, text, ""};
  return {"clock", control::kRemark, text,
          "time stamps and make will disagree: start chrony or ntpd"};
}

int own_mtu(const std::string& name) {
  const UniqueFd any(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  name.copy(request.ifr_name, sizeof request.ifr_name - 1);
  return ::ioctl(any.get(), SIOCGIFMTU, &request) == 0 ? request.ifr_mtu : 0;
}

control::KnownName look_up(const std::string& name) {
  control::KnownName known;
  known.name = name;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(name.c_str(), nullptr, &hints, &found) != 0) return known;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next)
    known.addresses.push_back(control::address_text(one->ai_addr));
  char back[NI_MAXHOST] = "";
  if (::getnameinfo(found->ai_addr, found->ai_addrlen, back, sizeof back, nullptr, 0,
                    NI_NAMEREQD) == 0)
    known.back = back;
  ::freeaddrinfo(found);
  return known;
}

bool is_link_local(const ifaddrs& one) {
  return one.ifa_addr->sa_family == AF_INET6 &&
         IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(one.ifa_addr)->sin6_addr);
}

std::vector<control::InterfaceAddress> addresses() {
  ifaddrs* all = nullptr;
  std::vector<control::InterfaceAddress> up;
  if (::getifaddrs(&all) != 0) return up;
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    if ((one->ifa_flags & IFF_UP) == 0 || (one->ifa_flags & IFF_LOOPBACK) != 0 ||
        one->ifa_addr == nullptr)
      continue;
    const int family = one->ifa_addr->sa_family;
    if ((family != AF_INET && family != AF_INET6) || is_link_local(*one)) continue;
    control::InterfaceAddress& address = up.emplace_back();
    address.name = one->ifa_name;
    address.address = control::address_text(one->ifa_addr);
    address.mtu = own_mtu(address.name);
  }
  ::freeifaddrs(all);
  return up;
}

control::Finding interfaces(const std::vector<control::InterfaceAddress>& up) {
  std::string text;
  for (const control::InterfaceAddress& one : up)
    text += (text.empty() ? "" : ", ") + one.name + " " + one.address + " (MTU " +
            std::to_string(one.mtu) + ")";
  if (!text.empty()) return {"interfaces", control::kGood, text, ""};
  return {"interfaces", control::kRemark, "none is up but loopback",
          "jobs of several hosts need one: ip link set NAME up"};
}

control::Finding ports() {
  int first = 0, last = 0;
  const auto range = file_text("/proc/sys/net/ipv4/ip_local_port_range");
  if (range) (void)std::sscanf(range->c_str(), "%d %d", &first, &last);
  const std::string text =
      std::to_string(first) + " to " + std::to_string(last) + " are given to ranks, TCP";
  if (last - first >= 1000) return {"ports", control::kGood, text, ""};
  return {"ports", control::kRemark, text,
          "too few for many ranks: sysctl net.ipv4.ip_local_port_range='32768 60999'"};
}

control::Finding versions() {
  utsname system{};
  ::uname(&system);
  std::string text = std::string(system.sysname) + " " + system.release + ", " + system.machine +
                     ", libc " + ::gnu_get_libc_version();
  const std::string driver = file_text("/proc/driver/nvidia/version").value_or("");
  if (!driver.empty()) text += ", " + driver.substr(0, driver.find('\n'));
  return {"versions", control::kGood, text, ""};
}

control::Finding shared_memory() {
  struct statvfs status {};
  if (::statvfs("/dev/shm", &status) != 0)
    return {"/dev/shm", control::kRemark, "is not there",
            "programs of other MPIs need it; Tutti's do not"};
  const std::uint64_t free = std::uint64_t{status.f_bavail} * status.f_frsize;
  const std::string text = text::format_bytes(free) + " free";
  if (free >= kLeastShm) return {"/dev/shm", control::kGood, text, ""};
  return {"/dev/shm", control::kRemark, text,
          "programs of other MPIs need more (containers: --shm-size=1g); Tutti's do not"};
}

control::Finding locked_memory() {
  rlimit limit{};
  ::getrlimit(RLIMIT_MEMLOCK, &limit);
  const bool rdma = !names_in("/sys/class/infiniband").empty();
  const bool all = limit.rlim_max == RLIM_INFINITY;
  const std::string text = (all ? "not limited" : text::format_bytes(limit.rlim_max) + " at most") +
                           std::string(rdma ? ", and there is an RDMA device" : "");
  if (all || !rdma) return {"memlock", control::kGood, text, ""};
  return {"memlock", control::kBad, text,
          "RDMA needs it: '* - memlock unlimited' in /etc/security/limits.conf"};
}

control::Finding open_files() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const std::string text = std::to_string(limit.rlim_max) + " at most";
  if (limit.rlim_max >= 4096) return {"open files", control::kGood, text, ""};
  if (limit.rlim_max < kLeastOpenFiles)
    return {"open files", control::kBad, text,
            "at least " + std::to_string(kLeastOpenFiles) +
                " are needed: raise the hard limit (ulimit -Hn)"};
  return {"open files", control::kRemark, text,
          "many ranks need more: raise the hard limit (ulimit -Hn)"};
}

// What a child is asked to try, away from this process.
template <class Try>
bool succeeds(Try attempt) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(attempt() ? 0 : 1);
  int status = 1;
  while (pid > 0 && ::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Between two siblings, as between ranks: a parent may always read its child.
control::Finding single_copy() {
  static volatile int word;
  word = 1;
  const pid_t held = ::fork();
  if (held == 0) {
    word = 42;
    for (;;) ::pause();
  }
  const bool works = held > 0 && succeeds([held] {
                       int copy = 0;
                       for (int i = 0; i < 1000 && copy != 42; ++i) {
                         iovec mine{&copy, sizeof copy};
                         iovec theirs{const_cast<int*>(&word), sizeof copy};
                         if (::process_vm_readv(held, &mine, 1, &theirs, 1, 0) < 0) return false;
                         if (copy != 42) ::usleep(1000);
                       }
                       return copy == 42;
                     });
  if (held > 0) {
    ::kill(held, SIGKILL);
    while (::waitpid(held, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (works) return {"single copy", control::kGood, "ranks may read each other's memory", ""};
  return {"single copy", control::kRemark, "ranks may not read each other's memory",
          "long messages are copied twice; sysctl kernel.yama.ptrace_scope=0, or in containers "
          "--cap-add SYS_PTRACE"};
}

control::Finding user_namespaces() {
  if (succeeds([] { return ::unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0; }))
    return {"user namespaces", control::kGood, "prun --virtual works", ""};
  return {"user namespaces", control::kRemark, "refused: no prun --virtual here",
          "sysctl kernel.unprivileged_userns_clone=1 or user.max_user_namespaces=10000"};
}

// tutti-info itself waits ten seconds at most, for libraries that do not answer.
constexpr std::chrono::seconds kInfoLimit{60};

// Empty: it said nothing, or could not be started.
std::string output_of(const InfoProgram& info) {
  std::vector<char*> environment;
  for (const std::string& each : info.environment)
    environment.push_back(const_cast<char*>(each.c_str()));
  environment.push_back(nullptr);
  return child_output(
      [&](int out) {
        ::dup2(out, STDOUT_FILENO);
        const char* const words[] = {info.path.c_str(), "--gpus", nullptr};
        ::execve(info.path.c_str(), const_cast<char**>(words), environment.data());
      },
      kInfoLimit);
}

// "2 x NVIDIA H200, NVIDIA A2; driver 535.104.05"
std::string told(const topo::GpuDriver& driver) {
  std::vector<std::pair<std::string, int>> models;
  for (const topo::DriverGpu& gpu : driver.gpus) {
    const auto known = std::find_if(models.begin(), models.end(),
                                    [&](const auto& one) { return one.first == gpu.model; });
    if (known == models.end())
      models.emplace_back(gpu.model, 1);
    else
      ++known->second;
  }
  std::string text;
  for (const auto& [model, count] : models)
    text += (text.empty() ? "" : ", ") + (count > 1 ? std::to_string(count) + " x " : "") +
            (model.empty() ? "GPU without a name" : model);
  return text + "; driver " + driver.version;
}

control::Finding gpus(const topo::GpuDriver& driver) {
  if (driver.version.empty())
    return {"GPUs", control::kGood, "none: NVIDIA's driver is not loaded", ""};
  if (driver.gpus.empty())
    return {"GPUs", control::kGood, "none, though driver " + driver.version + " is loaded", ""};
  const auto refused = std::count_if(driver.gpus.begin(), driver.gpus.end(),
                                     [](const topo::DriverGpu& gpu) { return !gpu.usable; });
  if (refused == 0) return {"GPUs", control::kGood, told(driver), ""};
  return {"GPUs", control::kRemark,
          told(driver) + "; " + std::to_string(refused) + " of them may not be opened",
          "programs started here do not see these: look at /dev/nvidia*, the container's options, "
          "the control group"};
}

// Whether a network card reads and writes GPU memory.
control::Finding gpu_direct(const topo::GpuDriver& driver) {
  const bool rdma = !names_in("/sys/class/infiniband").empty();
  if (driver.gpus.empty()) return {"GPUDirect", control::kGood, "not used: no GPU", ""};
  if (!rdma) return {"GPUDirect", control::kGood, "not used: no RDMA device", ""};
  if (driver.reads_gpus_dma)
    return {"GPUDirect", control::kGood,
            driver.is_open ? "by the open kernel modules" : "by nvidia_peermem", ""};
  return {"GPUDirect", control::kRemark, "no: messages of GPUs between hosts pass host memory",
          "modprobe nvidia_peermem"};
}

// What joins GPUs and serves collectives between them, by the libraries that ranks here would find:
// each line of `tutti-info --gpus`.
void add_gpu_libraries(const InfoProgram& info, std::vector<control::Finding>& found) {
  const std::string text = info.path.empty() ? "" : output_of(info);
  for (const std::string& line : text::split(text, '\n'))
    if (const auto at = line.find(": "); at != std::string::npos)
      found.push_back({line.substr(0, at), control::kGood, line.substr(at + 2), ""});
  if (text.empty())
    found.push_back({"CUDA", control::kGood,
                     info.path.empty() ? "not asked: no tutti-info beside prund here"
                                       : "not known: " + info.path + " said nothing",
                     ""});
}

}  // namespace

control::Findings examine_host(const control::Examine& wish, const InfoProgram& info) {
  control::Findings found;
  const topo::GpuDriver driver = topo::nvidia_driver();
  found.addresses = addresses();
  for (const std::string& name : wish.hosts) found.names.push_back(look_up(name));
  found.all = {clock(wish),     interfaces(found.addresses),
               ports(),         shared_memory(),
               locked_memory(), open_files(),
               single_copy(),   user_namespaces(),
               gpus(driver),    gpu_direct(driver),
               versions()};
  add_gpu_libraries(info, found.all);
  return found;
}

}  // namespace tutti::launch::daemon
