// Numbers that nobody can guess, from the kernel: keys, secrets, names that are not yet taken.
#pragma once

#include <cstddef>

namespace tutti {

// False: the kernel gives none.
[[nodiscard]] bool random_bytes(void* to, std::size_t count);

}  // namespace tutti
