// Deterministic nonsense for parsers: seeds, spliced, cut, repeated and with bytes changed.
//
// The same round gives the same bytes on every machine (no std:: distribution is used), so a
// failure is repeated by its number. How long a target runs: TUTTI_TEST_FUZZ_SECONDS, else as many
// rounds as the test says. The first round is TUTTI_TEST_FUZZ_FIRST. The round a target is
// in stands in the file fuzz-NAME.round beside it, so that one that crashes is known.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace fuzz {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ULL + 1) {}

  std::uint64_t next() {  // xorshift64*
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545F4914F6CDD1DULL;
  }
  std::size_t below(std::size_t limit) { return limit == 0 ? 0 : next() % limit; }

 private:
  std::uint64_t state_;
};

inline std::string mutate(Random& random, const std::vector<std::string>& seeds,
                          const std::string& letters) {
  std::string text = seeds[random.below(seeds.size())];
  for (std::size_t changes = random.below(6); changes > 0; --changes) {
    const std::size_t at = random.below(text.size() + 1);
    switch (random.below(6)) {
      case 0:
        text.insert(at, 1, letters[random.below(letters.size())]);
        break;
      case 1:
        text.insert(at, 1, static_cast<char>(random.next()));
        break;
      case 2:
        text.erase(at, random.below(5));
        break;
      case 3:
        text.insert(at, seeds[random.below(seeds.size())]);
        break;
      case 4:
        text.insert(at, std::to_string(random.next() >> random.below(64)));
        break;
      default:
        text.insert(at, text.substr(at, random.below(8)));
        break;
    }
  }
  return text;
}

// Bytes of a format with numbers in it: flips, cuts, splices, and numbers at the edges of their
// types.
inline std::string bend(Random& random, const std::vector<std::string>& seeds) {
  static constexpr std::uint64_t kEdges[] = {0,
                                             1,
                                             0x7f,
                                             0xff,
                                             0x7fff,
                                             0xffff,
                                             0x7fffffff,
                                             0x80000000,
                                             0xffffffff,
                                             0x7fffffffffffffff,
                                             0xffffffffffffffff,
                                             0xfffffffffffff000};
  std::string bytes = seeds[random.below(seeds.size())];
  for (std::size_t changes = random.below(8); changes > 0; --changes) {
    const std::size_t at = random.below(bytes.size() + 1);
    const std::size_t width = std::size_t{1} << random.below(4);
    switch (random.below(7)) {
      case 0:
        if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8)));
        break;
      case 1:
        if (at < bytes.size()) bytes[at] = static_cast<char>(random.next() >> 32);
        break;
      case 2:
        bytes.erase(at, random.below(random.below(8) == 0 ? 200 : 5));
        break;
      case 3: {
        const std::string& other = seeds[random.below(seeds.size())];
        bytes.insert(at, other, random.below(other.size() + 1), random.below(40));
        break;
      }
      case 4: {
        const std::uint64_t edge = kEdges[random.below(std::size(kEdges))] + random.below(3) - 1;
        if (at + width <= bytes.size()) std::memcpy(bytes.data() + at, &edge, width);
        break;
      }
      case 5:
        bytes.insert(at, bytes.substr(at, random.below(24)));
        break;
      default:
        bytes.resize(at);
        break;
    }
  }
  return bytes;
}

// The files of tests/fuzz/corpus/NAME, in the order of their names.
inline std::vector<std::string> corpus(const std::string& name) {
  std::vector<std::filesystem::path> paths;
  const std::filesystem::path folder = TUTTI_TEST_FUZZ_CORPUS;
  for (const auto& entry : std::filesystem::directory_iterator(folder / name))
    paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> texts;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    texts.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return texts;
}

// The rounds of one target.
class Rounds {
 public:
  Rounds(const std::string& name, int usual) : path_("fuzz-" + name + ".round"), last_(usual) {
    const char* seconds = std::getenv("TUTTI_TEST_FUZZ_SECONDS");
    const char* first = std::getenv("TUTTI_TEST_FUZZ_FIRST");
    if (seconds != nullptr) {
      has_end_ = true;
      ends_ = Clock::now() + std::chrono::seconds(std::atol(seconds));
    }
    if (first != nullptr) first_ = std::strtoull(first, nullptr, 10);
    const int fd = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ::ftruncate(fd, kShown) != 0) std::abort();
    void* const shown = ::mmap(nullptr, kShown, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ::close(fd);
    if (shown == MAP_FAILED) std::abort();
    shown_ = static_cast<char*>(shown);
  }
  ~Rounds() {  // also when a check failed: its message says the round
    ::munmap(shown_, kShown);
    ::unlink(path_.c_str());
  }
  Rounds(const Rounds&) = delete;
  Rounds& operator=(const Rounds&) = delete;

  bool more() {
    ++done_;
    std::snprintf(shown_, kShown, "%llu\n", static_cast<unsigned long long>(number()));
    return has_end_ ? Clock::now() < ends_ : done_ <= last_;
  }
  std::uint64_t number() const { return first_ + static_cast<std::uint64_t>(done_) - 1; }
  int done() const { return done_ - 1; }  // after the last one

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kShown = 32;
  std::string path_;
  char* shown_ = nullptr;
  std::uint64_t first_ = 0;
  int done_ = 0, last_;
  bool has_end_ = false;
  Clock::time_point ends_;
};

}  // namespace fuzz
