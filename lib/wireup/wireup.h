// wireup: how a process learns its world. One client per way of being started: by prun, which hands
// it the segment and a control socket; alone, a world of one; by another launcher, where ranks meet
// over a board (PMIx, PMI-1, or a socket at torchrun's MASTER_ADDR); in tests, as threads.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "wireup/newcomers.h"
#include "wireup/segment.h"
#include "wireup/share.h"

namespace tutti::wireup {

// Whose failure ends the job: this rank's, or another's, of which this one fell victim. Only the
// library knows: the status is a number that a program may end with, too.
enum class Blame { own, another };

class Wireup {
 public:
  virtual ~Wireup() = default;

  int rank() const { return rank_; }
  int local_rank() const { return local_rank_; }
  // Ranks that were there from the start, those of the segment; and with all that came later.
  int size() const { return static_cast<int>(segment().header().ranks); }
  int known() const { return known_ > 0 ? known_ : size(); }
  bool is_first(int rank) const { return rank < size(); }
  int local_size() const { return static_cast<int>(segment().header().local_ranks); }
  int host() const { return static_cast<int>(segment().header().this_host); }
  int host_of(int rank) const {
    return is_first(rank) ? segment().place(static_cast<unsigned>(rank)).host
                          : host_of_newcomer(rank);
  }
  std::string host_name_of(int rank) const;
  // What a person is told: "rank 3 on host b", and of one that is_gone() what it did.
  std::string name_of(int rank) const;
  std::string end_of(int rank) const;
  // Its process ended without finalizing, as far as is known. acquire: pairs with the daemon's
  // release; all that the rank wrote is visible then.
  bool is_gone(int rank) const {
    if (!is_first(rank)) return is_newcomer_gone(rank);
    return segment().rank(static_cast<unsigned>(rank)).gone.load(std::memory_order_acquire) != 0;
  }
  // Further ranks; the number of the first of them here. Who keeps tables of ranks grows them
  // (p2p::Endpoint::grow). Communicators of those who were there stay as they are.
  // (Ready, not called yet.)
  int add(std::shared_ptr<Newcomers> group);
  // Of whichever rank, its own source asked.
  Result<BlobView> address_of(int rank);
  const Segment& segment() const { return *segment_; }

  // Publishes this rank's transport addresses to the job. At most kAddressBytes.
  virtual Result<void> put(BlobView address) = 0;
  // Addresses of a rank of the segment; waits for them (under prun as long as it lives,
  // address_wait.h; elsewhere seconds). The error names the rank.
  virtual Result<BlobView> get(int rank) = 0;
  // Ends the job with this status; does not return when a launcher is there to end us.
  virtual void abort(int status, std::string_view reason, Blame blame) = 0;
  virtual Result<void> finalized() = 0;
  // It goes on all the same: a session is opened. False: the launcher cannot be told.
  virtual bool resumed() { return false; }
  // Another rank is lost: if this one fails, too, that may be why. May be said again.
  virtual void lost_peer() {}
  virtual void report_links(std::string_view lines) = 0;
  // Of --stats and --trace, and TUTTI_MISMATCH=every (call: a CallRecord); only prun wants to know.
  // At most 64 KiB.
  enum class Use { spent, events, sent, call };
  virtual void report_use(Use, std::string_view) {}
  // Whether somebody marks in the segment who ended without finalizing (RankRecord::gone): then a
  // peer that is not marked lives, however long it is silent.
  virtual bool hears_of_ends() const { return false; }
  // Where nobody tells who has ended: looks at the neighbours' processes, and marks them so.
  // Whoever waits for long calls it, whichever thread.
  virtual void look_for_ends() const {}
  // Hands a memory file to ranks of this host (`to`: ranks of the job; none: all of this host), or
  // takes one that was. Its size is sealed. Errors name ranks and hosts, and why. (Ready, not
  // called yet.)
  Result<Shared> share(int fd, std::span<const int> to = {});
  Result<UniqueFd> take(const ShareKey& key);
  // The same for what a GPU's driver has exported: no file to map, but to give to a driver. It is a
  // device's file, or a memory file whose size is sealed.
  Result<Shared> share_device(int fd);
  Result<UniqueFd> take_device(const ShareKey& key);
  // A remark for the user; prun shows it. At most 64 KiB.
  virtual void remark(std::string_view) {}

 protected:
  // What share() and take() could not see to themselves. Errors of the second: why not.
  Result<UniqueFd> take_any(const ShareKey& key, const std::string& who);
  virtual Result<Shared> hand_to_host(int fd, const Takers& to) = 0;
  virtual Result<UniqueFd> fetch_shared(const ShareKey& key) = 0;

  int rank_ = 0;
  int local_rank_ = 0;
  std::shared_ptr<Segment> segment_;

 private:
  struct Group {
    int first;
    std::shared_ptr<Newcomers> ranks;
  };
  const Group& group_of(int rank) const;
  int host_of_newcomer(int rank) const;
  bool is_newcomer_gone(int rank) const;
  std::vector<Group> groups_;
  int known_ = 0;  // 0: nobody came later
};

using Lookup = std::function<const char*(const char*)>;

// Finds out how this process was started and joins. Errors: signs of a launcher that cannot be
// joined (says which, and the cure); never silently a world of one then.
Result<std::unique_ptr<Wireup>> join(const Lookup& getenv);

// n ranks in this process over one segment: for tests. hosts[i] is the host of rank i; ranks
// of different "hosts" must not use each other's lanes. Element i serves rank i.
std::vector<std::unique_ptr<Wireup>> in_threads(const std::vector<int>& hosts);

// Clients by way of being started; join() chooses.
Result<std::unique_ptr<Wireup>> join_prun(const Lookup& getenv);
// Ends the job of a process that prun started and that could not join; returns where there is none
// to end, or another process is the rank, which goes on.
void abort_by_prun(const Lookup& getenv, int status, std::string_view reason);
Result<std::unique_ptr<Wireup>> join_alone(const Lookup& getenv);

}  // namespace tutti::wireup
