// The tcp transport alone, beside a bare busy-polled socket between the same two processes:
// half round trips of 8 B to 1 MiB, alternating, medians.
#include <arpa/inet.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "bind.h"
#include "transport/tcp/interfaces.h"
#include "transport/tcp/socket.h"
#include "transport/transport.h"
#include "wireup/wireup.h"

using namespace tutti;
using namespace tutti::transport;

namespace {

// Gives the address of a receive buffer, as p2p does for a posted receive.
class Receiver final : public Sink {
 public:
  std::size_t bytes = 0;
  std::vector<std::byte> memory = std::vector<std::byte>(std::size_t{2} << 20);
  bool on_frame(int, const FrameHeader& header, std::span<std::byte> payload) override {
    std::byte* const into = memory.data() + header.length;
    if (payload.data() != into && !payload.empty())
      std::memcpy(into, payload.data(), payload.size());
    bytes += payload.size();
    return true;
  }
  std::byte* place(int, const FrameHeader& header, std::size_t) override {
    return memory.data() + header.length;
  }
  void on_peer_gone(int, const Error& why) override {
    std::fprintf(stderr, "%s\n", why.text.c_str());
  }
};

struct Counted : Done {
  int left = 0;
};

struct Ours {
  Knobs knobs;
  Receiver sink;
  Opened opened;
  std::unique_ptr<Link> link;
  Counted done;

  Ours(wireup::Wireup& wireup, Knobs given) : knobs(std::move(given)) {
    opened = open_all({&wireup, &sink, &knobs});
    done.fire = [](Done* self, bool) { --static_cast<Counted*>(self)->left; };
  }
  Transport& tcp() { return *opened.transports.back(); }
  void send(const std::byte* data, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes;) {
      const std::size_t step = std::min(bytes - at, std::size_t{512} << 10);
      FrameHeader header;
      header.length = at;
      ++done.left;
      while (!link->try_post({&header, data + at, step, &done})) tcp().progress();
      at += step;
    }
    while (done.left > 0) tcp().progress();
  }
  void receive(std::size_t bytes) {
    const std::size_t total = sink.bytes + bytes;
    while (sink.bytes < total) tcp().progress();
  }
};

struct Bare {
  int fd;
  std::vector<std::byte> memory = std::vector<std::byte>(std::size_t{2} << 20);
  void send(const std::byte* data, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes;) {
      const ssize_t sent = ::send(fd, data + at, bytes - at, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent > 0) at += static_cast<std::size_t>(sent);
    }
  }
  void receive(std::size_t bytes) {
    for (std::size_t at = 0; at < bytes;) {
      const ssize_t got = ::recv(fd, memory.data() + at, bytes - at, MSG_DONTWAIT);
      if (got > 0) at += static_cast<std::size_t>(got);
    }
  }
};

template <class End>
double half_round_trip_us(End& end, int me, std::size_t bytes, const std::byte* data) {
  const int rounds = bytes > 100'000 ? 40 : 400;
  const std::int64_t began = now_ns();
  for (int i = 0; i < rounds; ++i) {
    if (me == 0) end.send(data, bytes);
    end.receive(bytes);
    if (me == 1) end.send(data, bytes);
  }
  return static_cast<double>(now_ns() - began) / rounds / 2e3;
}

double median(std::vector<double>& values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void run(wireup::Wireup& wireup, Ours& ours, int me, int bare_fd) {
  bind_to(me);
  (void)wireup;
  Bare bare{bare_fd};
  std::vector<std::byte> data(std::size_t{2} << 20, std::byte{1});
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{1024}, std::size_t{8} << 10,
                                  std::size_t{64} << 10, std::size_t{1} << 20}) {
    std::vector<double> plain, own;
    for (int sample = 0; sample < 15; ++sample) {
      plain.push_back(half_round_trip_us(bare, me, bytes, data.data()));
      own.push_back(half_round_trip_us(ours, me, bytes, data.data()));
    }
    if (me == 0) {
      const double a = median(plain);
      const double b = median(own);
      std::printf("%8zu B: bare %8.2f us, transport %8.2f us, ratio %.2f\n", bytes, a, b, b / a);
    }
  }
}

// Two connected sockets over the same address that the transport uses.
void connect_bare(int (&ends)[2]) {
  std::uint16_t port = 0;
  const auto own = tcp::usable_interfaces(tcp::Family::ipv4);
  UniqueFd listener = std::move(*tcp::listen_at({}, {}, port));
  tcp::SocketAddress address = own.front().address;
  address.port = port;
  ends[0] = tcp::start_connecting(address, {})->release();
  tcp::SocketAddress from;
  UniqueFd accepted;
  while (!accepted.is_open()) accepted = tcp::accept_from(listener.get(), from);
  ends[1] = accepted.release();
}

}  // namespace

int main() {
  const auto worlds = wireup::in_threads({0, 1});
  const Knobs knobs = *Knobs::read(
      [](const char* name) { return std::strcmp(name, "TUTTI_LINK") == 0 ? "tcp" : nullptr; });
  int bare[2];
  connect_bare(bare);
  const pid_t child = ::fork();
  const int me = child == 0 ? 1 : 0;
  Ours& own = *new Ours(*worlds[static_cast<std::size_t>(me)], knobs);
  const Blob address = own.tcp().address();
  Bare exchange{bare[me]};
  exchange.send(address.data(), address.size());
  exchange.receive(address.size());
  const std::span theirs(exchange.memory.data(), address.size());
  own.link = std::move(*own.tcp().connect(Peer{1 - me, 1 - me, 0, false}, theirs));
  run(*worlds[static_cast<std::size_t>(me)], own, me, bare[me]);
  std::fflush(stdout);
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  ::_exit(0);
}
