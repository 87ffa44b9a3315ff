// Making and entering virtual hosts, with unshare, setns and one `ip -batch` on each side.
#include "spawn/namespaces.h"

#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/pass_fd.h"
#include "base/shortage.h"
#include "spawn/tool.h"

namespace tutti::launch::spawn {
namespace {

constexpr int kHostNamespaces = CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNS;

std::string why_forbidden(const char* step) {
  const int error = errno;
  std::string text = std::string("virtual hosts: ") + step + ": " + std::strerror(error);
  if (error == ENOSPC) return text + "; raise it: sysctl user.max_user_namespaces=10000";
  if (error == EPERM || error == EACCES)
    return text +
           "; the kernel or container forbids namespaces: try sysctl "
           "kernel.unprivileged_userns_clone=1 or kernel.apparmor_restrict_unprivileged_userns=0, "
           "or start the container with --privileged";
  return text;
}

bool write_file(const char* path, const std::string& text) {
  const UniqueFd file(::open(path, O_WRONLY | O_CLOEXEC));
  return file.is_open() &&
         ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// A user namespace in which we keep our ids, and hold every capability over its networks.
Result<void> become_switch() {
  const std::string uid = std::to_string(::geteuid());
  const std::string gid = std::to_string(::getegid());
  if (::unshare(CLONE_NEWUSER) != 0)
    return fail(Code::spawn, why_forbidden("making a user namespace"));
  if (!write_file("/proc/self/setgroups", "deny") && errno != ENOENT)
    return fail(Code::spawn, why_forbidden("setgroups"));
  if (!write_file("/proc/self/uid_map", uid + " " + uid + " 1") ||
      !write_file("/proc/self/gid_map", gid + " " + gid + " 1"))
    return fail(Code::spawn, why_forbidden("mapping user and group"));
  if (::unshare(CLONE_NEWNET) != 0)
    return fail(Code::spawn, why_forbidden("making a network namespace"));
  return run_tool({"ip", "-batch", "-"},
                  "link set lo up\nlink add br0 type bridge\nlink set br0 up\n");
}

// What the switch is told by a host process: who it is. Its answer socket travels along.
struct LinkRequest {
  std::int32_t pid;
};

// Ports are numbered by request: a host that ended may still be on its way out.
Result<void> plug(const LinkRequest& request, int number, const VirtualLink& link) {
  const std::string port = "port" + std::to_string(number);
  TUTTI_DO(run_tool({"ip", "-batch", "-"}, "link add " + port + " type veth peer name eth0 netns " +
                                               std::to_string(request.pid) + "\nlink set " + port +
                                               " master br0\nlink set " + port + " up\n"));
  return shape_link(port, link.rate, link.delay);
}

// Answers a request: kDone, else the reason. Nothing is what a switch that was killed says.
constexpr std::string_view kDone = "done";

void answer(int to, const Result<void>& outcome) {
  const std::string_view text = outcome ? kDone : std::string_view(outcome.error().text);
  (void)::send(to, text.data(), text.size(), MSG_NOSIGNAL);  // a host that died needs no answer
}

Result<void> hear_answer(int from) {
  std::array<char, 1024> text{};
  const ssize_t length = ::recv(from, text.data(), text.size(), 0);
  if (length <= 0) return fail(Code::spawn, kSwitchKilled);
  const std::string_view said(text.data(), static_cast<std::size_t>(length));
  if (said == kDone) return {};
  return fail(Code::spawn, std::string(said));
}

bool receive_request(int socket, LinkRequest* request, UniqueFd* reply) {
  if (receive_with_fd(socket, request, sizeof *request, reply) !=
      static_cast<ssize_t>(sizeof *request))
    return false;
  return reply->is_open();
}

// The switch process: builds the bridge, then serves hosts until prun is gone.
[[noreturn]] void run_switch(int requests, pid_t parent, const VirtualLink& link) {
  ::signal(SIGINT, SIG_IGN);  // ends with prun, not with the terminal's ^C
  const auto ready = become_switch();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // after the user namespace: entering it resets the signal
  if (::getppid() != parent) ::_exit(0);
  ::prctl(PR_SET_NAME, "prun-switch");
  answer(requests, ready);
  if (!ready) ::_exit(1);
  for (int served = 0;;) {
    LinkRequest request{};
    UniqueFd reply;
    if (receive_request(requests, &request, &reply)) {
      answer(reply.get(), plug(request, served++, link));
      continue;
    }
    pollfd look{requests, POLLIN, 0};
    if (::poll(&look, 1, -1) > 0 && (look.revents & (POLLHUP | POLLERR)) != 0) ::_exit(0);
  }
}

bool join_namespace(pid_t of, const char* kind, int type) {
  const std::string path = "/proc/" + std::to_string(of) + "/ns/" + kind;
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return file.is_open() && ::setns(file.get(), type) == 0;
}

// /etc/hosts with every virtual host, visible in this mount namespace only.
Result<void> mount_hosts_file(const std::string& text) {
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("tutti", "/mnt", "tmpfs", 0, "size=4m,mode=0755") != 0)
    return fail(Code::spawn, why_forbidden("mounting a private /etc/hosts"));
  const UniqueFd file(::open("/mnt/hosts", O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  const bool written = file.is_open() && ::write(file.get(), text.data(), text.size()) ==
                                             static_cast<ssize_t>(text.size());
  if (!written || ::mount("/mnt/hosts", "/etc/hosts", nullptr, MS_BIND, nullptr) != 0)
    return fail(Code::spawn, why_forbidden("mounting a private /etc/hosts"));
  ::umount2("/mnt", MNT_DETACH);  // the bind mount keeps the file
  return {};
}

// The kernel notes a carrier some time after both ends are up; until then ranks would not take
// the interface for a usable one.
Result<void> await_carrier(const char* name) {
  constexpr int kLooks = 20'000;
  constexpr useconds_t kPauseUs = 500;
  const UniqueFd any(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strncpy(request.ifr_name, name, sizeof request.ifr_name - 1);
  for (int look = 0; look < kLooks; ++look) {
    if (::ioctl(any.get(), SIOCGIFFLAGS, &request) != 0)
      return fail(Code::spawn, why_forbidden("asking for the state of eth0"));
    if ((request.ifr_flags & IFF_RUNNING) != 0) return {};
    ::usleep(kPauseUs);
  }
  return fail(Code::spawn, "virtual hosts: eth0 got no carrier within 10 s");
}

}  // namespace

std::string VirtualNet::ipv4(int host) {
  const int number = host + 1;
  return "10.77." + std::to_string(number >> 8) + "." + std::to_string(number & 255);
}

std::string VirtualNet::ipv6(int host) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "fd77:7475:7474:6900::%x", host + 1);
  return text.data();
}

Result<VirtualNet> VirtualNet::create(std::vector<std::string> names, VirtualLink link) {
  constexpr std::size_t most = 65'000;
  if (names.size() > most)
    return fail(Code::spawn, std::to_string(names.size()) + " virtual hosts; at most 65000");
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()) != 0)
    return fail(Code::spawn, std::string("socketpair: ") + std::strerror(errno));
  VirtualNet net;
  net.names_ = std::move(names);
  net.link_ = std::move(link);
  net.maker_ = ::getpid();
  net.requests_.reset(pair[0]);
  UniqueFd theirs(pair[1]);
  net.switch_ = ::fork();
  if (net.switch_ < 0) return fail(Code::spawn, no_process(errno));
  if (net.switch_ == 0) {
    ::close(net.requests_.release());
    run_switch(theirs.get(), net.maker_, net.link_);
  }
  theirs.reset();  // else a switch that was killed would be waited for
  TUTTI_DO(hear_answer(net.requests_.get()));
  return net;
}

VirtualNet::VirtualNet(VirtualNet&& other) noexcept
    : names_(std::move(other.names_)),
      link_(std::move(other.link_)),
      maker_(other.maker_),
      switch_(std::exchange(other.switch_, 0)),
      requests_(std::move(other.requests_)) {}

UniqueFd VirtualNet::switch_ended() const {
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, switch_, 0)));
}

VirtualNet::~VirtualNet() {
  if (switch_ <= 0 || ::getpid() != maker_) return;
  ::kill(switch_, SIGKILL);
  ::waitpid(switch_, nullptr, 0);
}

// Sends our process id and one end of a fresh socket pair; waits on the other for the verdict.
Result<void> VirtualNet::ask_for_link() {
  std::array<int, 2> pair{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()) != 0)
    return fail(Code::spawn, std::string("socketpair: ") + std::strerror(errno));
  const UniqueFd ours(pair[0]);
  UniqueFd theirs(pair[1]);
  LinkRequest request{static_cast<std::int32_t>(::getpid())};
  if (!send_with_fd(requests_.get(), {reinterpret_cast<const char*>(&request), sizeof request},
                    theirs.get()))
    return fail(Code::spawn, kSwitchKilled);
  theirs.reset();
  return hear_answer(ours.get());
}

Result<void> VirtualNet::enter(int host) {
  if (!join_namespace(switch_, "user", CLONE_NEWUSER))
    return fail(Code::spawn, why_forbidden("joining the user namespace"));
  if (::unshare(kHostNamespaces) != 0)
    return fail(Code::spawn, why_forbidden("making a host's namespaces"));
  TUTTI_DO(ask_for_link());
  const std::string& name = names_[static_cast<std::size_t>(host)];
  if (::sethostname(name.data(), name.size()) != 0)
    return fail(Code::spawn, why_forbidden("setting the host name"));
  std::string hosts = "127.0.0.1 localhost\n::1 localhost ip6-localhost\n";
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const int number = static_cast<int>(i);
    hosts += ipv4(number) + " " + names_[i] + "\n" + ipv6(number) + " " + names_[i] + "\n";
  }
  TUTTI_DO(mount_hosts_file(hosts));
  TUTTI_DO(run_tool({"ip", "-batch", "-"}, "link set lo up\naddr add " + ipv4(host) +
                                               "/16 dev eth0\naddr add " + ipv6(host) +
                                               "/64 dev eth0 nodad\nlink set eth0 up\n"));
  TUTTI_DO(await_carrier("eth0"));
  return shape_link("eth0", link_.rate, link_.delay);
}

}  // namespace tutti::launch::spawn
