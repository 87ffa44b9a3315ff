// What a child process writes before it ends, for questions that may crash or never come back.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace tutti {

// Forks; the child runs `work(out)`, where `out` is the descriptor to write to, and leaves with
// status 127 should that return. Gives what was written until its end was closed; nothing where no
// child could be made or `limit_ns` (nanoseconds from now) passed first. The child has ended and is
// reaped in any case: it is killed once it has been heard, and when its parent dies.
std::optional<std::string> child_output(std::int64_t limit_ns,
                                        const std::function<void(int out)>& work);

}  // namespace tutti
