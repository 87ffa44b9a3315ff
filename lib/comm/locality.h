// Where ranks sit: host, and inside it the resources that their threads are bound to.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tutti::comm {

class Communicator;
class Runtime;

// Levels from the outside in. A number is -1 when the rank may use several of that level.
enum class Level : std::uint8_t { host, package, numa, l3, core, thread };
inline constexpr int kLevels = 6;
struct Locality {
  std::int32_t at[kLevels];
  std::int32_t on(Level level) const { return at[static_cast<int>(level)]; }
};

Locality my_locality(Runtime& runtime);
// Everyone's, by rank. Collective.
Result<std::vector<Locality>> localities_of(Communicator& comm);
// As far as each knows without asking: the hosts. Local.
std::vector<Locality> hosts_in(const Communicator& comm);
// What a message between them costs, roughly; 0: the same place.
int distance(const Locality& a, const Locality& b);

// Names as hwloc has them ("Package", "NUMANode", ...), with or without "hwloc://".
std::optional<Level> level_named(std::string_view name);
const char* name_of(Level level);

}  // namespace tutti::comm
