// Questions to our own kernel about a connection, by TCP_INFO and by netlink's sock_diag.
#include "control/far_kernel.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "base/unique_fd.h"

namespace tutti::launch::control {
namespace {

constexpr std::uint32_t kLongAgoMs = 30'000;
constexpr int kEstablished = 1;  // TCP_ESTABLISHED, which netinet/tcp.h has and linux/tcp.h not

std::optional<sockaddr_storage> address_of(const std::string& text, const std::string& port) {
  const auto number = text::parse_int(port);
  if (!number || *number <= 0 || *number > 65535) return {};
  sockaddr_storage storage{};
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  if (::inet_pton(AF_INET, text.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(static_cast<std::uint16_t>(*number));
    std::memcpy(&storage, &v4, sizeof v4);
  } else if (::inet_pton(AF_INET6, text.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(static_cast<std::uint16_t>(*number));
    std::memcpy(&storage, &v6, sizeof v6);
  } else {
    return {};
  }
  return storage;
}

// Into the form of sock_diag.
void put(const sockaddr_storage& from, __be16* port, __be32* address) {
  if (from.ss_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &from, sizeof v6);
    *port = v6.sin6_port;
    std::memcpy(address, &v6.sin6_addr, 16);
  } else {
    sockaddr_in v4{};
    std::memcpy(&v4, &from, sizeof v4);
    *port = v4.sin_port;
    *address = v4.sin_addr.s_addr;
  }
}

struct KernelQuestion {
  nlmsghdr head;
  inet_diag_req_v2 what;
};

std::optional<tcp_info> info_in(const char* answer, std::size_t bytes) {
  nlmsghdr head{};
  if (bytes < sizeof head) return {};
  std::memcpy(&head, answer, sizeof head);
  const std::size_t begins = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(inet_diag_msg));
  if (head.nlmsg_type != SOCK_DIAG_BY_FAMILY || head.nlmsg_len > bytes) return {};
  for (std::size_t at = begins; at + sizeof(rtattr) <= head.nlmsg_len;) {
    rtattr attribute{};
    std::memcpy(&attribute, answer + at, sizeof attribute);
    if (attribute.rta_len < sizeof attribute || attribute.rta_len > head.nlmsg_len - at) return {};
    if (attribute.rta_type == INET_DIAG_INFO) {
      tcp_info info{};
      std::memcpy(&info, answer + at + sizeof attribute,
                  std::min<std::size_t>(attribute.rta_len - sizeof attribute, sizeof info));
      return info;
    }
    at += RTA_ALIGN(attribute.rta_len);
  }
  return {};
}

}  // namespace

std::optional<Connection> connection_from(const std::string& words,
                                          const std::vector<std::string>& addresses) {
  const auto parts = text::split(words, ' ');
  if (parts.size() != 4) return {};
  const auto peer = address_of(parts[0], parts[1]), own = address_of(parts[2], parts[3]);
  if (!peer || !own || peer->ss_family != own->ss_family) return {};
  const bool is_loopback = parts[0].starts_with("127.") || parts[0] == "::1";
  if (is_loopback || std::find(addresses.begin(), addresses.end(), parts[0]) == addresses.end())
    return {};
  return Connection{*own, *peer};
}

bool is_answered(const tcp_info& info) {
  if (info.tcpi_state != kEstablished) return false;
  const bool nothing_waits = info.tcpi_retransmits == 0 && info.tcpi_probes == 0;
  return nothing_waits || info.tcpi_last_ack_recv < kLongAgoMs;
}

bool far_kernel_answers(int socket) {
  tcp_info info{};
  socklen_t bytes = sizeof info;
  return ::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &bytes) == 0 && is_answered(info);
}

bool far_kernel_answers(const Connection& connection) {
  const UniqueFd netlink(
      ::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG));
  KernelQuestion question{};
  question.head.nlmsg_len = sizeof question;
  question.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.head.nlmsg_flags = NLM_F_REQUEST;
  question.what.sdiag_family = static_cast<std::uint8_t>(connection.own.ss_family);
  question.what.sdiag_protocol = IPPROTO_TCP;
  question.what.idiag_ext = 1U << (INET_DIAG_INFO - 1);
  question.what.idiag_states = ~0U;
  inet_diag_sockid& id = question.what.id;
  put(connection.own, &id.idiag_sport, id.idiag_src);
  put(connection.peer, &id.idiag_dport, id.idiag_dst);
  id.idiag_cookie[0] = id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  if (!netlink.is_open() || ::send(netlink.get(), &question, sizeof question, 0) < 0) return false;
  std::array<char, 8192> answer{};  // the kernel has put it there already
  const ssize_t got = ::recv(netlink.get(), answer.data(), answer.size(), 0);
  if (got <= 0) return false;
  const auto info = info_in(answer.data(), static_cast<std::size_t>(got));
  return info && is_answered(*info);
}

}  // namespace tutti::launch::control
