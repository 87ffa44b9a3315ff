// gpu_library.h: a GPU vendor's library of collectives (NCCL), which works a team whose members
// have a GPU each (part of this room's door).
//
// The library is the system's, opened when a call first could go by it. Owner: comm's runtime,
// which outlives the teams.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/knobs.h"
#include "delegate/delegate.h"

namespace tutti::delegate {

class GpuLibrary {
 public:
  // By which members find each other; one of them makes it and tells the others.
  using Id = std::array<std::byte, 128>;
  struct Place {
    std::vector<int> members;  // ranks of the job
    int me = 0;                // among them
    int device = 0;            // number of this member's GPU
    Id id{};
  };

  virtual ~GpuLibrary() = default;
  virtual std::string name() const = 0;  // "NCCL 2.28.9"
  virtual Result<Id> make_id() = 0;
  // Waits for the other members. Errors: why this member is in none; the others' fail then, too, or
  // their wait ends.
  virtual Result<std::unique_ptr<Team>> make_team(wireup::Wireup& wireup, const Place& place,
                                                  const Waiting& waiting) = 0;
};

// Whether calls are to ask for it at all: this build can, and this host has a GPU's driver or
// TUTTI_GPU_SUPPORT says so. The ranks of a host answer alike.
bool may_use_gpu_library(const Knobs& knobs);
// What it serves, by collective, type and operation: all members answer alike.
bool serves_on_gpus(const TeamCall& call);
// Errors: why it cannot be used.
Result<std::unique_ptr<GpuLibrary>> open_gpu_library();

}  // namespace tutti::delegate
