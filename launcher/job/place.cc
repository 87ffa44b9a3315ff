// From one look at a rank to what it is in.
#include "job/place.h"

#include "base/contexts.h"
#include "base/text.h"
#include "watch/watch.h"

namespace tutti::launch::job {

std::string function_of(const control::SeenRank& seen) {
  return watch::function_name(static_cast<std::uint32_t>(seen.function - 1));
}

bool is_collective(const control::SeenRank& seen) {
  return seen.function != 0 && seen.detailed && is_of_collectives(seen.context);
}

bool is_starting(const control::SeenRank& seen) {
  if (seen.ended || seen.function == 0) return false;
  const std::string function = function_of(seen);
  return function == "MPI_Init" || function == "MPI_Init_thread";
}

// The first call that a program is seen in is the one that opens them; the same function enters
// once more when it meets others (bindings/mpi/body/init.cc).
bool is_opening(const control::SeenRank& seen) {
  return seen.calls == 1 && is_starting(seen);
}

bool has_died(const control::SeenRank& seen) {
  return !seen.ended && seen.state == 'X';
}

bool looks_stopped(const control::SeenRank& seen) {
  return !seen.ended && (seen.state == 'T' || seen.state == 't');
}

bool waits_in_mpi(const control::SeenRank& seen) {
  return !seen.ended && seen.function != 0 && !has_died(seen) && !is_opening(seen);
}

bool is_missed_in(const control::SeenRank& seen, const control::SeenRank& other) {
  return is_of_world(seen.context) &&
         (other.ended || has_died(other) || !is_collective(other) ||
          other.context != seen.context || other.sequence < seen.sequence);
}

std::string place_of(const control::SeenRank& seen) {
  if (seen.ended) return "over";
  if (has_died(seen))
    return seen.function == 0 ? "died outside MPI" : "died in " + function_of(seen);
  if (seen.function == 0)
    return seen.joined ? "not in MPI: computing, or waiting for something else"
                       : "not in MPI yet (before MPI_Init)";
  std::string text = function_of(seen);
  if (is_opening(seen)) return text + ", opening networks and drivers";
  if (!seen.detailed) return text;
  if (seen.context == kMeetingContext) return text + ", for rank " + std::to_string(seen.peer);
  text += " on " + communicator_text(seen.context);
  if (is_collective(seen)) {
    if (seen.sequence > 0) text += ", its collective number " + std::to_string(seen.sequence);
    if (seen.peer >= 0) text += ", root rank " + std::to_string(seen.peer);
  } else if (seen.peer != watch::kNoPeer) {
    text +=
        seen.peer == watch::kAnyPeer ? ", for any rank" : ", for rank " + std::to_string(seen.peer);
    text += seen.tag >= 0 ? ", tag " + std::to_string(seen.tag) : ", any tag";
  }
  if (seen.bytes > 0) text += ", " + text::format_bytes(seen.bytes);
  return text;
}

}  // namespace tutti::launch::job
