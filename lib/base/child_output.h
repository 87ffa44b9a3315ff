// What a child of this process writes, for work that may hang or crash and must not take us along.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

namespace tutti {

// Forks; the child calls `work` with a descriptor to write to, and ends. What it wrote until then,
// or until it crashed; empty: it could not be started, or was not done at the limit. By the return
// the child is gone, and it ends with the thread that called.
std::string child_output(const std::function<void(int out)>& work, std::chrono::milliseconds limit);

// All of a text, for `work`; false: nobody reads any more.
bool write_all(int out, std::string_view text);

}  // namespace tutti
