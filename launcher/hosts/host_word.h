// One word that names a host, as hostfiles and -H share it: [user@]host[:slots].
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "hosts/hosts.h"

namespace tutti::launch::hosts {

// Counts above this are typing errors, not machines.
inline constexpr int kMostSlots = 1 << 20;

// "a", "a:2", "me@a:2", "[fe80::1]:2", "fe80::1". The error says what is wrong with the word;
// the caller adds where it stands.
Result<HostSlots> parse_host_word(std::string_view word);

// The words of a list: cut at commas outside of brackets.
std::vector<std::string> cut_list(const std::string& text);

// A count of slots: a whole number from 1 to kMostSlots.
std::optional<int> parse_slots(std::string_view text);

// Adds a host, or its slots to the one already there: a name repeated adds up.
void add_host(Allocation& allocation, const HostSlots& host);

}  // namespace tutti::launch::hosts
