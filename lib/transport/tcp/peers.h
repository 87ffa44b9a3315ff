// peers: the connection to each peer, whoever made it, from first wish to goodbye.
//
// Two ranks may connect to each other at the same time; one connection must stay. The lower
// rank's does. The higher rank gives its own attempt up when the lower one calls. The lower rank,
// called while its own attempt has introduced itself already, keeps the caller waiting until that
// has ended. So it is with each of the rails (TUTTI_TCP_RAILS), which are further connections to a
// peer: beside the first one, numbered from 1, made when a long message first takes them. Rails
// leave as many descriptors free as first connections and visitors may need; a rail that would take
// one of those, here or at the peer, is given up, and what it would carry goes by the first
// connection.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "transport/gone_scan.h"
#include "transport/tcp/attempt.h"
#include "transport/tcp/no_files.h"
#include "transport/tcp/reception.h"
#include "transport/tcp/stream.h"

namespace tutti::transport::tcp {

// One connection, or the wish for it, to a peer that this rank ever talked to.
struct PeerConnection {
  PeerConnection(int of, int number) : rank(of), rail(number) {}
  int rank;
  int rail;                           // 0: the ordered link's
  std::vector<SocketAddress> theirs;  // what the peer published; in rail 0
  std::unique_ptr<Stream> stream;
  std::unique_ptr<Attempt> attempt;
  std::unique_ptr<Guest> guest;  // waits for the end of `attempt`
  bool is_over = false;          // said goodbye, or is gone
  bool is_given_up = false;      // a rail for which one of both ranks has no descriptor
  // When the daemon was first seen to call it gone, or another connection to it broke.
  std::int64_t doomed_at_ns = 0;
};

class Peers {
 public:
  Peers(wireup::Wireup& wireup, Sink& sink, Security security, Congestion congestion,
        std::uint32_t rails);
  ~Peers();

  Result<void> listen(Family family, const std::string& interfaces);
  const Blob& address() const { return address_; }
  const std::vector<Interface>& interfaces() const { return interfaces_; }
  double wire_gbits() const;  // of the fastest network that we are reached by; 0: not known
  int wait_fd() const { return poller_.fd(); }

  int rails() const { return static_cast<int>(own_.rails); }
  // Begin to connect, unless a connection stands or is on its way.
  Result<PeerConnection*> wish(int rank, BlobView address);
  PeerConnection& wish_rail(int rank, int rail);  // to a peer that was wished for
  PeerConnection& first_of(int rank) { return at(rank); }
  // Another link has lost this peer: nothing of it is read any more.
  void drop(int rank);
  int pull_hot();  // reads where something arrived lately
  bool has_hot() const { return !hot_.empty(); }
  // What a frame found no memory for in the last round; before anything is read.
  int take_again() { return scratch_.whose == nullptr ? 0 : scratch_.whose->take_again(); }
  int serve();  // everything that is ready, and what time brings
  void look_for_gone();

 private:
  PeerConnection& at(int rank, int rail = 0);
  void begin(PeerConnection& one);
  // Rung when the reception has guests.
  struct Bell final : Watched {
    explicit Bell(Peers& all) : peers(all) {}
    void on_ready(std::uint32_t) override;
    Peers& peers;
  };

  bool lives(int rank) const;  // somebody who knows says so
  void welcome(Guest guest);
  void establish(PeerConnection& one, UniqueFd fd, const LinkSession& session);
  void tick();
  void tell_of_shortage(const PeerConnection& one);
  void end_without_descriptors();
  std::int64_t rail_fd_limit(int rail) const;  // the lowest descriptor that it may not take
  static bool is_in_vain(const PeerConnection& wish);
  enum class Shortage : std::uint8_t { here, there };
  void give_up(PeerConnection& rail, Shortage of_files);
  void look_for_files(std::int64_t now);
  void settle(PeerConnection& one);
  int bury(PeerConnection& one);
  void close(PeerConnection& one);
  void end_wishes(PeerConnection& one);
  bool is_drained(int rank);
  void lose(PeerConnection& one, Error why);
  void tell_of_lost();
  Error explain(const PeerConnection& one, const std::string& what) const;
  void heat(const PeerConnection& one);
  void cool(const Stream* stream);

  // A peer that is lost on one of its connections, and why. It is told of when the others, whose
  // ends come about as fast, have brought what they still hold.
  struct Lost {
    int rank;
    Error why;
  };
  struct Hot {
    Stream* stream;
    bool is_rail;
    int fruitless;
  };

  wireup::Wireup& wireup_;
  Sink& sink_;
  Identity own_;
  Poller poller_;
  Bell bell_{*this};
  Reception reception_;
  Scratch scratch_;
  GoneScan gone_;
  std::vector<Interface> interfaces_;
  Blob address_;
  std::unordered_map<int, std::vector<std::unique_ptr<PeerConnection>>> all_;  // by rank, then rail
  std::vector<PeerConnection*> unsettled_;  // with an attempt or a guest
  std::vector<PeerConnection*> open_;       // with a stream
  std::vector<Hot> hot_;
  std::vector<Lost> lost_;
  bool has_told_ = false;           // that descriptors are short
  bool has_told_of_rails_ = false;  // that there are fewer
  NoFiles no_files_;
  std::int64_t ticked_ns_ = 0;
  std::int64_t streams_ticked_ns_ = 0;

 public:
  GoneScan& gone() { return gone_; }
};

}  // namespace tutti::transport::tcp
