// socket: half the round trip over one bare TCP connection, both sides polling without rest:
// the floor under every message between hosts. `socket stream`: the time of one of many messages
// in a row, the floor under `bandwidth`. `socket exchange`: both send, then both receive, as ranks
// in the steps of a collective do.
//
// Run as two ranks of any MPI: rank 0 listens and tells rank 1 its addresses by a message;
// rank 1 tries them in turn. MPI carries nothing else while the clock runs.
#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <mpi.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "../harness/harness.h"

namespace {

constexpr int kMostAddresses = 16;
constexpr int kConnectWaitMs = 3000;
constexpr std::size_t kWindowBytes = std::size_t{8} << 20;  // as `bandwidth` has them
constexpr std::size_t kMostMessages = 64;

// Where rank 0 listens: IPv4 addresses in network order, those of real interfaces first.
struct Meeting {
  std::uint32_t addresses[kMostAddresses];
  int count;
  std::uint16_t port;
};

// A socket that sends as our links do, so that a floor is one under them: where the host's default
// paces (bbr) by cubic, or by reno where users may not take that (lib/transport/tcp/congestion.h).
int tcp_socket(int flags) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
  char rule[17] = {};
  socklen_t length = 16;
  if (fd < 0 || getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, rule, &length) != 0) return fd;
  if (std::strncmp(rule, "bbr", 3) != 0) return fd;
  for (const char* other : {"cubic", "reno"}) {
    const auto size = static_cast<socklen_t>(std::strlen(other));
    if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, other, size) == 0) break;
  }
  return fd;
}

int listen_anywhere(Meeting& meeting) {
  const int fd = tcp_socket(0);
  sockaddr_in name = {};
  name.sin_family = AF_INET;
  socklen_t length = sizeof name;
  if (fd < 0 || bind(fd, reinterpret_cast<sockaddr*>(&name), length) != 0 || listen(fd, 4) != 0 ||
      getsockname(fd, reinterpret_cast<sockaddr*>(&name), &length) != 0) {
    return -1;
  }
  meeting.port = name.sin_port;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return -1;
  for (const unsigned loopback : {0U, unsigned{IFF_LOOPBACK}}) {
    for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
      if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
      if ((one->ifa_flags & IFF_LOOPBACK) != loopback || (one->ifa_flags & IFF_UP) == 0) continue;
      if (meeting.count == kMostAddresses) break;
      sockaddr_in address;
      std::memcpy(&address, one->ifa_addr, sizeof address);
      meeting.addresses[meeting.count++] = address.sin_addr.s_addr;
    }
  }
  freeifaddrs(all);
  return fd;
}

int connect_to(std::uint32_t address, std::uint16_t port) {
  const int fd = tcp_socket(SOCK_NONBLOCK);
  sockaddr_in name = {};
  name.sin_family = AF_INET;
  name.sin_addr.s_addr = address;
  name.sin_port = port;
  if (connect(fd, reinterpret_cast<sockaddr*>(&name), sizeof name) == 0) return fd;
  pollfd waiting = {fd, POLLOUT, 0};
  int error = 0;
  socklen_t length = sizeof error;
  if (errno == EINPROGRESS && poll(&waiting, 1, kConnectWaitMs) == 1 &&
      getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error == 0) {
    return fd;
  }
  close(fd);
  return -1;
}

// Connects both ranks; -1 on either side when that failed.
int meet(int rank) {
  Meeting meeting = {};
  if (rank == 0) {
    const int listener = listen_anywhere(meeting);
    MPI_Send(&meeting, sizeof meeting, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    pollfd waiting = {listener, POLLIN, 0};
    const bool came = poll(&waiting, 1, kMostAddresses * kConnectWaitMs) == 1;
    const int fd = came ? accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC) : -1;
    close(listener);
    return fd;
  }
  MPI_Recv(&meeting, sizeof meeting, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < meeting.count; ++i) {
    const int fd = connect_to(meeting.addresses[i], meeting.port);
    if (fd >= 0) return fd;
  }
  return -1;
}

class Socket final : public bench::Case {
 public:
  ~Socket() override {
    if (fd_ >= 0) close(fd_);
  }
  enum class How { round_trip, stream, exchange };
  explicit Socket(How how) : how_(how) {}
  std::string name() const override {
    return how_ == How::stream     ? "socket stream"
           : how_ == How::exchange ? "socket exchange"
                                   : "socket";
  }
  int ranks() const override { return 2; }
  double operations() const override {
    return how_ == How::stream ? static_cast<double>(window_) : how_ == How::exchange ? 1 : 2;
  }
  double bus_bytes(std::size_t bytes) const override { return static_cast<double>(bytes); }

  void prepare(std::size_t bytes) override {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    if (fd_ < 0) {
      fd_ = meet(rank_);
      const int yes = 1;
      if (fd_ < 0 || setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) != 0) {
        std::fprintf(stderr, "socket: rank %d is not connected: %s\n", rank_, std::strerror(errno));
        MPI_Abort(MPI_COMM_WORLD, 1);
      }
    }
    window_ = std::clamp<std::size_t>(kWindowBytes / bytes, 2, kMostMessages);
    out_.resize(bytes);
    in_.assign(bytes, 0);
    for (std::size_t i = 0; i < bytes; ++i) out_[i] = bench::byte_at(i, rank_);
  }

  void run(long) override {
    if (how_ == How::stream) return stream();
    if (how_ == How::round_trip) return round_trip();
    exchange();
  }

  bool verify() override {
    std::fill(in_.begin(), in_.end(), std::uint8_t{0});
    run(0);
    if (how_ == How::stream && rank_ == 0) return true;
    for (std::size_t i = 0; i < in_.size(); ++i) {
      if (in_[i] != bench::byte_at(i, 1 - rank_)) return false;
    }
    return true;
  }

 private:
  void round_trip() {
    if (rank_ == 0) send_all(out_.size());
    receive_all(in_.size());
    if (rank_ == 1) send_all(out_.size());
  }

  // Both at once, else two that send more than the kernel keeps would wait for each other.
  void exchange() {
    for (std::size_t out = 0, in = 0; out < out_.size() || in < in_.size();) {
      if (out < out_.size()) out += send_some(out, out_.size());
      if (in < in_.size()) in += receive_some(in, in_.size());
    }
  }

  // As `bandwidth` does: a window of messages, then an answer of a byte.
  void stream() {
    for (std::size_t i = 0; i < window_; ++i) {
      if (rank_ == 0) send_all(out_.size());
      if (rank_ == 1) receive_all(in_.size());
    }
    if (rank_ == 0) receive_all(1);
    if (rank_ == 1) send_all(1);
  }

  // Both stop the program when the connection breaks: there is nothing left to measure.
  void send_all(std::size_t bytes) {
    for (std::size_t done = 0; done < bytes;) done += send_some(done, bytes);
  }
  void receive_all(std::size_t bytes) {
    for (std::size_t done = 0; done < bytes;) done += receive_some(done, bytes);
  }
  std::size_t send_some(std::size_t from, std::size_t until) {
    const ssize_t sent = send(fd_, out_.data() + from, until - from, MSG_NOSIGNAL);
    if (sent < 0) check();
    return sent < 0 ? 0 : static_cast<std::size_t>(sent);
  }
  std::size_t receive_some(std::size_t from, std::size_t until) {
    const ssize_t got = recv(fd_, in_.data() + from, until - from, 0);
    if (got == 0) errno = ECONNRESET;
    if (got <= 0) check();
    return got <= 0 ? 0 : static_cast<std::size_t>(got);
  }
  static void check() {
    if (errno == EAGAIN || errno == EINTR) return;
    std::perror("socket: connection lost");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }

  const How how_;
  std::size_t window_ = 1;
  int rank_ = 0;
  int fd_ = -1;
  std::vector<std::uint8_t> in_, out_;
};

}  // namespace

int main(int argc, char** argv) {
  const std::string word = argc > 1 ? argv[1] : "";
  const auto how = word == "stream"     ? Socket::How::stream
                   : word == "exchange" ? Socket::How::exchange
                                        : Socket::How::round_trip;
  Socket what(how);
  const int words = how == Socket::How::round_trip ? 0 : 1;
  argv[words] = argv[0];
  return bench::measure(argc - words, argv + words, what);
}
