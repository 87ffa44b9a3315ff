// gpu_library.h: a GPU vendor's library of collectives (NCCL), which works a team whose members
// have a GPU each (part of this room's door).
//
// The library is the system's, opened when a call first could go by it. Owner: comm's runtime,
// which outlives the teams.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/knobs.h"
#include "delegate/delegate.h"

namespace tutti::delegate {

// A call as a team of GPUs is given it. Of blocks that are equal `said` tells all.
struct GpuCall {
  struct Piece {
    std::byte* at = nullptr;
    Count bytes = 0;
    int device = -1;  // its GPU's number; -1: in host memory
    bool is_one_run = true;
  };
  TeamCall said;
  // gatherv, scatterv, allgatherv, alltoallv: by member, what goes there and what comes from there.
  // Empty pieces: this member has no such side, or its own block stays where it is.
  bool has_pieces = false;
  std::vector<Piece> gives, takes;
  // reduce_scatter: elements of each member's block; empty: said.count each.
  std::vector<Count> counts;
};

// Members with a GPU each. Nobody waits in it but run().
class GpuTeam {
 public:
  virtual ~GpuTeam() = default;
  // Behind what the caller's default stream holds; waits until the data are there. Members make
  // their calls in the same order.
  virtual Code run(const GpuCall& call) = 0;
  // Whether enqueue() can put calls into this stream (a CUstream).
  virtual bool can_enqueue(void* stream) const = 0;
  // Puts the call into such a stream, behind what is there; the stream tells when it has ended. By
  // any thread while no such call is under way, beside those who ask how the team is: waits for
  // the stream to take it, and for nothing of ours. Errors: the team has failed, or this call.
  virtual Result<void> enqueue(const GpuCall& call, void* stream) = 0;
  // Ends the calls that are not over, and all later ones, with this code; the other members', too.
  virtual void cancel(Code code) = 0;
  // Its members have agreed that it is over: nobody is told.
  virtual void abandon() = 0;
  // Looks whether it still works. True: its calls end with an error from now on: here, or (as far
  // as is known) with another member.
  virtual bool check_broken() = 0;
  virtual Code failure() const = 0;  // as check_broken() found it
};

// Memory on a GPU, of ours.
class GpuBuffer {
 public:
  virtual ~GpuBuffer() = default;
  virtual std::byte* at() const = 0;
  virtual bool is_lost() const = 0;  // the program has reset that GPU
};

// The last words of an error that this member has only because another one failed.
inline constexpr const char* kAnotherFailed = "another member says that its part failed";

class GpuLibrary {
 public:
  // By which members find each other; one of them makes it and tells the others.
  using Id = std::array<std::byte, 128>;
  // What a GPU is to the library, wherever its process counts it: members of one host, or of one
  // host id, share it if they say the same.
  struct Seat {
    std::array<std::byte, 16> gpu{};
    std::uint64_t host_id = 0;
    std::int32_t has_host_id = 0;
    std::int32_t may_share = 0;  // the library takes those who share one
  };
  struct Place {
    std::vector<int> members;  // ranks of the job
    int me = 0;                // among them
    int device = 0;            // number of this member's GPU
    Id id{};
    // By our own links: that this member's part has failed, and whether another's has.
    std::function<void()> tell_others;
    std::function<bool()> has_heard;
  };

  virtual ~GpuLibrary() = default;
  virtual std::string name() const = 0;  // "NCCL 2.28.9"
  virtual int version() const = 0;
  virtual Result<Id> make_id() = 0;
  // Waits for the other members. Errors: why this member is in none; the others' fail then, too.
  virtual Result<std::unique_ptr<GpuTeam>> make_team(wireup::Wireup& wireup, const Place& place,
                                                     const Waiting& waiting) = 0;
  // Given back when nothing is under way in it.
  virtual Result<std::unique_ptr<GpuBuffer>> take_buffer(int device, std::size_t bytes) = 0;
  virtual Result<Seat> seat_of(int device) = 0;
};

// Whether processes here may have a GPU: this host has a GPU's driver, or TUTTI_GPU_SUPPORT says
// so. The ranks of a host answer alike.
bool may_have_gpus(const Knobs& knobs);
// Whether this build can use a library at all.
bool has_gpu_library();
// What it serves, by collective, type and operation: all members answer alike.
bool serves_on_gpus(const GpuCall& call);
// Errors: why it cannot be used.
Result<std::unique_ptr<GpuLibrary>> open_gpu_library();

}  // namespace tutti::delegate
