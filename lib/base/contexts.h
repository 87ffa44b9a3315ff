// Context ids, as every room and the launcher read them: a communicator has an even one, for
// messages, and the next, for collectives. (Which it gets is agreed in comm.)
#pragma once

#include <cstdint>
#include <string>

namespace tutti {

inline constexpr std::uint32_t kWorldContext = 0;  // born first of all
inline constexpr std::uint32_t kSelfContext = 2;
inline constexpr std::uint32_t kMeetingContext = 4;  // where ranks meet who have groups only

constexpr bool is_of_collectives(std::uint64_t context) {
  return context % 2 == 1;
}
constexpr std::uint64_t communicator_number(std::uint64_t context) {
  return context / 2;
}
constexpr bool is_of_world(std::uint64_t context) {
  return communicator_number(context) == communicator_number(kWorldContext);
}
// "MPI_COMM_WORLD", "communicator 7"
inline std::string communicator_text(std::uint64_t context) {
  return is_of_world(context) ? "MPI_COMM_WORLD"
                              : "communicator " + std::to_string(communicator_number(context));
}

}  // namespace tutti
