// Secrets that people keep: in a variable, or in a file that nobody else may write or read.
#include <fcntl.h>
#include <sodium.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "base/unique_fd.h"
#include "secure/secure.h"

namespace tutti::secure {
namespace {

constexpr unsigned long long kTurns = 3;
constexpr std::size_t kMemory = 8U << 20;
constexpr std::size_t kLongestFile = 4096;

tl::unexpected<Error> refuse(const std::string& path, const std::string& why) {
  return fail(Code::access, "the key file " + path + " " + why);
}

// Judged by descriptor: what is read is what was looked at.
Result<void> judge(const std::string& path, const UniqueFd& file) {
  struct stat about {};
  if (::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode))
    return refuse(path, "is no file");
  constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH, kOthers = S_IRWXG | S_IRWXO;
  if (about.st_uid == ::geteuid()) {
    if ((about.st_mode & kOthers) != 0 &&
        (about.st_uid != 0 || (about.st_mode & kOthersWrite) != 0))
      return refuse(path,
                    "is open to others; chmod 600 it, and make a new key if they may have read it");
    return {};
  }
  if (about.st_uid != 0) return refuse(path, "belongs to another user; take a copy of your own");
  if ((about.st_mode & kOthersWrite) != 0)
    return refuse(path, "is root's, and others may write it");
  return {};
}

}  // namespace

Result<Key> secret_from(std::string_view text, std::string_view use) {
  if (text.size() < kLeastKeyBytes)
    return fail(Code::arg, "a key of " + std::to_string(text.size()) +
                               " bytes is too short; take " + std::to_string(kLeastKeyBytes) +
                               " at least (head -c 24 /dev/urandom | base64)");
  if (::sodium_init() < 0) return fail(Code::other, "libsodium does not start");
  std::array<unsigned char, crypto_pwhash_SALTBYTES> salt{};
  crypto_generichash(salt.data(), salt.size(), reinterpret_cast<const unsigned char*>(use.data()),
                     use.size(), nullptr, 0);
  Key key{};
  if (crypto_pwhash(key.data(), key.size(), text.data(), text.size(), salt.data(), kTurns, kMemory,
                    crypto_pwhash_ALG_ARGON2ID13) != 0)
    return fail(Code::no_mem, "no 8 MiB of memory to make a secret of the key");
  return key;
}

std::uint64_t number_from(const Key& secret, std::string_view text) {
  std::array<unsigned char, crypto_generichash_BYTES> hash{};
  crypto_generichash(hash.data(), hash.size(), reinterpret_cast<const unsigned char*>(text.data()),
                     text.size(), secret.data(), secret.size());
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < sizeof number; ++i) number = number << 8U | hash.at(i);
  return number;
}

Result<std::optional<std::string>> read_key_file(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open()) {
    if (errno == ENOENT || errno == ENOTDIR) return std::optional<std::string>();
    return refuse(path, std::string("cannot be read: ") + std::strerror(errno));
  }
  TUTTI_DO(judge(path, file));
  std::array<char, kLongestFile> room{};
  std::size_t has = 0;
  while (has < room.size()) {
    const ssize_t got = ::read(file.get(), room.data() + has, room.size() - has);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return refuse(path, std::string("cannot be read: ") + std::strerror(errno));
    if (got == 0) break;
    has += static_cast<std::size_t>(got);
  }
  const std::string key(text::trim({room.data(), has}));
  sodium_memzero(room.data(), room.size());
  if (key.size() < kLeastKeyBytes || has == room.size())
    return refuse(path, "holds " + std::to_string(key.size()) + " bytes; a key has " +
                            std::to_string(kLeastKeyBytes) + " to " +
                            std::to_string(kLongestFile - 1) + "; remove it to get a new one");
  return std::optional<std::string>(key);
}

}  // namespace tutti::secure
