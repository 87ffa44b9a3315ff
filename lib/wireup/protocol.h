// What a rank and its daemon say to each other: datagrams on an inherited SOCK_SEQPACKET pair.
//
// One datagram is one message: RankMessage, then `bytes` of payload. The rank's side needs no
// library for it. Everything bulky or shared goes through the job segment instead.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tutti::wireup {

// The variables by which a rank finds its world (launcher/daemon/rank_env.cc sets them).
inline constexpr const char* kSegmentFdVariable = "TUTTI_SEGMENT_FD";
inline constexpr const char* kControlFdVariable = "TUTTI_CONTROL_FD";
inline constexpr const char* kLocalRankVariable = "TUTTI_LOCAL_RANK";
// Holds the key by which nodes meet: no launcher of ours hands it on.
inline constexpr const char* kJoinKeyVariable = "TUTTI_JOIN_KEY";
// What links cost, where prun or rank 0 is told (model/costs.h); in ranks of prun it means nothing.
inline constexpr const char* kCostsVariable = "TUTTI_COSTS";
inline constexpr const char* kJobVariable = "TUTTI_JOB_ID";  // a sign of a launcher
// For a rank whose descriptors were closed on the way: where to ask, and what proves who asks.
inline constexpr const char* kDoorVariable = "TUTTI_DOOR";
inline constexpr const char* kDoorKeyVariable = "TUTTI_DOOR_KEY";
// Where the descriptors of a rank lie, unless the limit of open files is lower (rank_fds in
// launcher/daemon/launch.h).
inline constexpr int kSegmentFd = 960;
inline constexpr int kControlFd = 961;
// What only the launcher can say.
inline constexpr std::array kLaunchersOwn{kSegmentFdVariable, kControlFdVariable,
                                          kLocalRankVariable, kJobVariable,
                                          kDoorVariable,      kDoorKeyVariable};

inline constexpr std::int64_t kMostRanks = 1 << 20;  // of a job

// A rank that fails may speak before it ends, of its stack and of places in its sources, which
// takes a part of this. Who fails because of it, or tells so, leaves it the time to be heard first.
inline constexpr unsigned kLongestSpeechS = 5;
inline constexpr unsigned kTurnOfReasonS = kLongestSpeechS + 1;

enum class RankSays : std::uint32_t {
  joined = 1,     // value: pid
  address = 2,    // payload: transport addresses of this rank
  finalized = 3,  // orderly end: its exit is not a failure any more
  abort = 4,      // value: exit status; payload: reason, one line
  links = 5,      // payload: lines for --report-links, text
  spent = 6,      // payload: time per call (watch/recorder.h)
  events = 7,     // payload: calls for a timeline (watch/recorder.h)
  sent = 8,       // payload: lines "rank TAB link TAB messages TAB bytes"
  remark = 9,     // payload: text for the user
  call = 10,      // payload: the CallRecord of a collective that begins (TUTTI_MISMATCH=every)
  // As abort, and not the cause: this rank failed because another one did, which says why.
  abort_after = 11,
  lost_peer = 12,  // another rank is lost to this one, whose own failure may follow from that
  resumed = 13,    // opens a session after it said finalized: its exit is a failure again
};

struct RankMessage {
  std::uint32_t says;
  std::int32_t value;
  std::uint32_t bytes;
};
inline constexpr std::size_t kMaxRankPayload = 64 * 1024;

// The door: a Unix socket with a path, at which a rank gets its descriptors again from the daemon,
// and shares files with its neighbours. One datagram each way: DoorAsk up, DoorAnswer down, each
// with what the wish says besides, and a descriptor. TUTTI_DOOR_KEY is both secrets, in
// hexadecimal: the first proves the rank, the second the daemon. Who proves nothing is told
// nothing. A rank without a daemon has such a door for what it shares (share_server.h).
inline constexpr std::size_t kDoorSecretBytes = 16;
inline constexpr std::uint32_t kDoorMagic = 0x74645231;  // and the version of all this
inline constexpr std::size_t kDoorMostText = 512;
enum class DoorWish : std::uint32_t {
  join = 1,  // the descriptor: the job segment that this rank is in
  next = 2,  // the same; the next generation's, if the process before has finalized
  // Up: Takers and the file. Down: its ShareKey. Shared until the connection ends.
  share = 3,
  take = 4,  // up: a ShareKey. Down: the file
};
// After join and next the connection is a control socket like the inherited one.

struct DoorAsk {
  std::uint32_t magic = kDoorMagic;
  std::uint32_t wish = 0;
  std::int32_t local = 0;
  std::uint32_t bytes = 0;  // of what the wish says besides, behind this
  std::uint8_t secret[kDoorSecretBytes] = {};
};
struct DoorAnswer {
  std::uint32_t magic = kDoorMagic;
  std::uint32_t wish = 0;
  std::uint32_t bytes = 0;    // of what follows: the wish's, or why not; at most kDoorMostText
  std::uint32_t refused = 0;  // 1: a rank that proved itself does not get this
  std::uint8_t secret[kDoorSecretBytes] = {};
};

// A datagram at a door, of whatever anybody sent: nothing where no rank says such a thing. It
// proves nothing yet. `body` lies in the datagram.
struct DoorWords {
  DoorAsk ask;
  std::string_view body;
};
std::optional<DoorWords> parse_ask(std::string_view datagram);
inline constexpr std::size_t kDoorMostAsk = sizeof(DoorAsk) + kDoorMostText;
// Takes as long whatever is wrong.
bool is_same_secret(const std::uint8_t* a, const std::uint8_t* b, std::size_t bytes);
// Answers a rank that has proved itself. fd -1: none goes along. False: it is gone.
bool answer_at_door(int to, DoorAnswer answer, std::string_view body, int fd);

}  // namespace tutti::wireup
