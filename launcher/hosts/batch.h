// What the readers of batch systems share. Inside the room only.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"
#include "hosts/hosts.h"

namespace tutti::launch::hosts {

// More are a typing error.
inline constexpr std::size_t kMostHosts = 1U << 20;

Result<void> add(Allocation& allocation, const std::string& name, int slots,
                 const std::string& source);

bool is_slurm_job(const ReadVariable& variable);
Result<Allocation> from_slurm(const ReadVariable& variable);

}  // namespace tutti::launch::hosts
