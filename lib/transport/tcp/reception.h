// reception: connections that others made to us, until they have proved who they are.
//
// A thread of its own accepts and asks them, so that nobody stands in the kernel's queue while
// this rank computes, however many strangers come. The thread takes no signals and never enters
// MPI: it hands over who has proved to be a rank of this job, and the rank decides, inside MPI,
// what becomes of them. A stranger costs a descriptor for a few seconds. Whoever breaks the
// protocol, is slow to introduce itself, or does not know the key is dropped and counted; the
// first one is reported. Where room is short the oldest who has proved nothing leaves first,
// without a word: it may be a rank, which comes again.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

#include "base/quiet_thread.h"
#include "transport/tcp/handshake.h"
#include "transport/tcp/poller.h"
#include "transport/tcp/socket.h"

namespace tutti::transport::tcp {

// A proved connection that waits for our word.
struct Guest {
  UniqueFd fd;
  Acceptor handshake;
};

class Reception {
 public:
  static constexpr std::size_t kOurShare = 8;  // visitors get this part of the descriptors
  explicit Reception(const Identity& own);
  ~Reception();

  // Listens at this address; the port it got. Before begin().
  Result<std::uint16_t> open(const SocketAddress& at);
  Result<void> begin();
  int bell() const { return bell_.get(); }  // readable when there are guests
  std::vector<Guest> take_guests();
  // Somebody comes for whom this process has no file left.
  bool lacks_files() const { return lacks_files_.load(std::memory_order_relaxed); }
  // The program has closed its descriptors: nobody is let in any more.
  bool is_deaf() const { return is_deaf_.load(std::memory_order_relaxed); }

 private:
  struct Listener;
  struct Visitor;

  // All below runs in the thread.
  void work();
  void accept_all(Listener& listener);
  bool make_room();
  void tell_of_shortage(int error);
  void open_doors(bool open);
  void advance(Visitor& visitor);
  void hand_over(Guest guest);
  void refuse(Visitor& visitor, const char* why);
  void drop(Visitor& visitor);
  void drop_the_slow(std::int64_t now);

  const Identity& own_;
  Poller poller_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::list<std::unique_ptr<Visitor>> waiting_;  // oldest first
  std::size_t most_visitors_;
  std::uint64_t strangers_ = 0;
  bool doors_open_ = true;
  bool has_told_ = false;  // that descriptors are short
  std::int64_t shut_ns_ = 0;

  UniqueFd bell_, end_;
  // relaxed: looked at again and again
  std::atomic<bool> lacks_files_{false}, is_deaf_{false};
  std::atomic<bool> is_over_{false};  // release by the destructor, acquire by the thread
  std::mutex mutex_;
  std::vector<Guest> guests_;  // under mutex_
  QuietThread thread_;
};

}  // namespace tutti::transport::tcp
