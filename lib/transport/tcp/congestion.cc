// Rules of congestion control: which one, and when.
#include "transport/tcp/congestion.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/unique_fd.h"

namespace tutti::transport::tcp {
namespace {

constexpr std::uint32_t kLongWayUs = 1000;  // there and back: between sites, not inside one
constexpr std::uint32_t kNotKnown = ~std::uint32_t{0};
constexpr std::size_t kMostName = 16;  // TCP_CA_NAME_MAX

bool set_rule(int fd, const std::string& name) {
  return ::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name.data(),
                      static_cast<socklen_t>(name.size())) == 0;
}

UniqueFd fresh_socket() {
  return UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

}  // namespace

std::string congestion_of(int fd) {
  char name[kMostName + 1] = {};
  socklen_t bytes = kMostName;
  return ::getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &bytes) == 0 ? name : "";
}

Congestion Congestion::beside(const std::string& host_default) {
  Congestion made;
  if (!host_default.starts_with("bbr")) return made;
  // The usual default; which of them users may take is the host's choice, but reno always.
  const UniqueFd probe = fresh_socket();
  for (const char* name : {"cubic", "reno"})
    if (made.wanted.empty() && set_rule(probe.get(), name)) made.wanted = name;
  made.for_long_way = host_default;
  return made;
}

Result<Congestion> Congestion::named(const std::string& wish) {
  const UniqueFd probe = fresh_socket();
  if (wish == "auto") return beside(congestion_of(probe.get()));
  Congestion made;
  if (wish == "system") return made;
  if (!set_rule(probe.get(), wish))
    return fail(Code::arg, "TUTTI_TCP_CONGESTION=" + wish + ": this host does not allow that (" +
                               std::strerror(errno) +
                               "); net.ipv4.tcp_allowed_congestion_control has what it allows");
  made.wanted = wish;
  return made;
}

void Congestion::begin(int fd) const {
  if (!wanted.empty()) set_rule(fd, wanted);
}

void Congestion::settle(int fd, std::uint32_t round_trip_us) const {
  if (!for_long_way.empty() && round_trip_us >= kLongWayUs) set_rule(fd, for_long_way);
}

std::uint32_t round_trip_us_of(int fd) {
  tcp_info info{};
  socklen_t bytes = sizeof info;
  const bool is_told =
      ::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) == 0 && info.tcpi_min_rtt != kNotKnown;
  return is_told ? info.tcpi_min_rtt : 0;
}

}  // namespace tutti::transport::tcp
