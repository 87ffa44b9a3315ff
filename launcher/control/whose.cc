// Which user has opened the other end of a connection on this machine. TCP hands over no
// credentials, but the kernel's table of connections names the user of each. Root's and this user's
// are trusted.
#include "control/whose.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>

#include "base/file.h"
#include "base/text.h"

namespace tutti::launch::control {
namespace {

struct TcpEnd {
  std::array<unsigned char, 16> address{};  // IPv4 as ::ffff:a.b.c.d
  int port = 0;
  bool operator==(const TcpEnd&) const = default;
  bool is_loopback() const {
    constexpr std::array<unsigned char, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    if (std::memcmp(address.data(), kMapped.data(), kMapped.size()) == 0) return address[12] == 127;
    in6_addr own{};
    std::memcpy(&own, address.data(), sizeof own);
    return IN6_IS_ADDR_LOOPBACK(&own);
  }
};

void map_v4(TcpEnd& end, const void* four) {
  end.address[10] = end.address[11] = 0xff;
  std::memcpy(end.address.data() + 12, four, 4);
}

TcpEnd end_of(const sockaddr_storage& socket) {
  TcpEnd end;
  if (socket.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(socket);
    map_v4(end, &v4.sin_addr);
    end.port = ntohs(v4.sin_port);
  } else {
    const auto& v6 = reinterpret_cast<const sockaddr_in6&>(socket);
    std::memcpy(end.address.data(), &v6.sin6_addr, 16);
    end.port = ntohs(v6.sin6_port);
  }
  return end;
}

// "0100007F:1F90": each word of the address as this machine's number.
TcpEnd end_in(const std::string& text) {
  TcpEnd end;
  const auto colon = text.find(':');
  if (colon != 8 && colon != 32) return end;
  std::array<std::uint32_t, 4> words{};
  for (std::size_t i = 0; i < colon / 8; ++i)
    words[i] = static_cast<std::uint32_t>(std::strtoul(text.substr(8 * i, 8).c_str(), nullptr, 16));
  if (colon == 8)
    map_v4(end, words.data());
  else
    std::memcpy(end.address.data(), words.data(), 16);
  end.port = static_cast<int>(std::strtoul(text.c_str() + colon + 1, nullptr, 16));
  return end;
}

std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  for (const std::string& word : text::split(line, ' '))
    if (!word.empty()) words.push_back(word);
  return words;
}

}  // namespace

Whose whose_end(int fd) {
  sockaddr_storage own{}, theirs{};
  socklen_t length = sizeof own, their_length = sizeof theirs;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &length) != 0 ||
      ::getpeername(fd, reinterpret_cast<sockaddr*>(&theirs), &their_length) != 0)
    return Whose::gone;
  const TcpEnd here = end_of(own), there = end_of(theirs);
  constexpr std::size_t kLocal = 1, kRemote = 2, kUser = 7, kInode = 9;
  for (const char* table : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
    for (const std::string& line : text::split(file_text(table).value_or(""), '\n')) {
      const auto words = words_of(line);
      if (words.size() <= kInode || !(end_in(words[kLocal]) == there) ||
          !(end_in(words[kRemote]) == here))
        continue;
      if (words[kInode] == "0")
        return Whose::gone;  // such a one has no user, whatever stands there
      const auto user = text::parse_int(words[kUser]);
      const bool ours = user && (*user == 0 || *user == static_cast<std::int64_t>(::geteuid()));
      return ours ? Whose::ours : Whose::others;
    }
  }
  return there.is_loopback() ? Whose::gone : Whose::far;
}

}  // namespace tutti::launch::control
