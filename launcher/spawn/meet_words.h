// What both sides of a meeting say. Inside the room only.
#pragma once

#include <string>
#include <string_view>

namespace tutti::launch::spawn {

inline constexpr std::string_view kMeetWord = "TUTTI meet";
inline constexpr std::string_view kJoinWord = "TUTTI join";
inline constexpr std::string_view kWelcomeWord = "TUTTI welcome";
inline constexpr std::string_view kRefusedWord = "TUTTI refused";

// 32 hexadecimal digits that only who knows the key can make of the text.
std::string proof_of(const std::string& key, const std::string& text);
bool is_same(const std::string& a, const std::string& b);  // in constant time

}  // namespace tutti::launch::spawn
