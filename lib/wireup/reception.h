// Where the ranks of torchrun's variables meet rank 0: who proves that he belongs gets his seat,
// whatever else comes. Private to wireup.
//
// On one host: a Unix socket, whose kernel says whose process each side is. Between hosts: TCP, a
// proof of each side that it knows the join key (secure/secure.h), and everything sealed.
//
//   rank:   RANK PUBLIC NAME         PUBLIC: "-" on one host
//   rank 0: PUBLIC                   between hosts only
//   rank:   PROOF                    between hosts only
//   rank 0: PROOF                    between hosts only; sealed from here on
//   rank 0: seat, or taken
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "secure/secure.h"
#include "wireup/board.h"
#include "wireup/connection.h"

namespace tutti::wireup {

struct JobRun {
  std::string name;  // this very run: its id, port, restart and size
  int rank = 0, size = 1;
  std::optional<secure::Key> secret{};  // nothing: this host and this user only
  // For all ranks to come, and again at each fence: one may have died, or never been started.
  std::int64_t limit_ns = 180'000'000'000;
};

// "180 s"
std::string seconds_of(std::int64_t ns);
// "rank 2", "ranks 2, 3": those that are marked, of which there is one at least.
std::string ranks_of(const std::vector<bool>& marked);

// Of rank 0: waits for all the others. Element i is rank i's; element 0 is empty.
Result<std::vector<BoardConnection>> receive_ranks(const JobRun& run);
// Of the others: finds rank 0, at an address or on this host.
Result<BoardConnection> go_to_rank_0(const JobRun& run, const std::string& master);
// All of it: every rank's board.
Result<BoardPtr> open_board(JobRun run, const std::string& node, const std::string& master);

// Shared by both sides.
constexpr int kBoardPorts = 16;
int board_port(const JobRun& run, int index);  // of a run with a secret
std::string board_name(const JobRun& run);     // of the Unix socket; what follows it is random
inline BlobView bytes_of_text(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}
inline std::string said_by_both(const std::string& claim, const std::string& answer) {
  return claim + "\n" + answer;
}
constexpr std::size_t kLongestWord = 4096;
constexpr std::int64_t kVisitorNs = 10'000'000'000;  // for one to say who it is

}  // namespace tutti::wireup
