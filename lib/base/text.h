// Small functions on text: split, trim, parse numbers and sizes, edit distance, quoting.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tutti::text {

std::vector<std::string> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);
std::string lower(std::string_view text);                        // ASCII letters
std::optional<std::int64_t> parse_int(std::string_view text);    // whole text, decimal
std::optional<std::int64_t> parse_bytes(std::string_view text);  // 64, 64k, 1M, 2G (powers of 1024)
std::string format_bytes(std::uint64_t bytes);                   // 64 KiB, 1.5 MiB
std::size_t edit_distance(std::string_view a, std::string_view b);
// The candidate nearest to `word`, empty when none is within a third of its length
// (or, from four letters on, within two changes).
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace tutti::text
