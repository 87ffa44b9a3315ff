// What both sides of a meeting say, and what they know of each other. Inside the room only.
//
//   host:     TUTTI join PUBLIC MODE VERSION ID SLOTS NODE NAME
//   meeting:  TUTTI meet PUBLIC MODE                              or: TUTTI refused WHY
//   host:     TUTTI proof PROOF
//   meeting:  TUTTI welcome PROOF                                 or: TUTTI refused WHY
//
// From there on everything is sealed. The proofs cover the first two lines and the job's name. The
// host proves first: who only looks what listens here gets nothing to try keys on.
#pragma once

#include <string>
#include <string_view>

#include "secure/secure.h"
#include "spawn/meet.h"

namespace tutti::launch::spawn {

inline constexpr std::string_view kJoinWord = "TUTTI join";
inline constexpr std::string_view kMeetWord = "TUTTI meet";
inline constexpr std::string_view kProofWord = "TUTTI proof";
inline constexpr std::string_view kWelcomeWord = "TUTTI welcome";
inline constexpr std::string_view kRefusedWord = "TUTTI refused";

// "key" or "open".
inline std::string mode_of(const MeetingKey& key) {
  return key.is_open ? "open" : "key";
}
// What the proofs of both sides cover besides their public keys.
std::string said_by_both(const MeetingKey& key, const std::string& join, const std::string& meet);
inline BlobView bytes_of(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

}  // namespace tutti::launch::spawn
