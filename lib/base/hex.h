// Bytes as hexadecimal digits, two each, in small letters; and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tutti::text {

std::string hex(const void* bytes, std::size_t count);

// Fills `bytes`. False: the text is not twice as long, or has something else than such digits.
[[nodiscard]] bool unhex(std::string_view text, std::span<std::uint8_t> bytes);

}  // namespace tutti::text
