// What a control group grants, which hwloc does not know: processor time, in processors; memory.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace tutti::topo {

using ReadText = std::function<std::optional<std::string>(const std::string& path)>;

// "150000 100000" (cgroup v2, cpu.max) -> 1.5; "max 100000" and nonsense -> 0, no limit.
double parse_cpu_max(const std::string& text);
// The tightest limit on the way from our group to the root, for v2 and v1; 0: none.
double cpu_quota(const ReadText& read);
// Bytes that may still be taken: no more than is available, nor than the tightest limit; 0: not
// known.
std::uint64_t memory_left(const ReadText& read);

}  // namespace tutti::topo
