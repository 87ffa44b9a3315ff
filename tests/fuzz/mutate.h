// Deterministic nonsense for parsers: seeds, spliced, cut, repeated and with bytes changed.
//
// The same seed gives the same text on every machine (no std:: distribution is used), so a
// failure is repeated by its number. How many rounds: TUTTI_FUZZ_ROUNDS, else what the test says.
#pragma once

#include <cstdint>
#include <cstdlib>
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

inline int rounds(int usual) {
  const char* given = std::getenv("TUTTI_FUZZ_ROUNDS");
  return given == nullptr ? usual : std::atoi(given);
}

}  // namespace fuzz
