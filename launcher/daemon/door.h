// The daemon's door: where a rank whose inherited descriptors were closed on the way (Python's
// subprocess, sudo, a container) gets them again, and where ranks share files with their neighbours
// (wireup/protocol.h: DoorAsk; wireup/share.h).
//
// A socket with a path, as paths cross network namespaces. Any user may reach it (sudo -u and
// containers change who a rank is), so its key decides: one for each rank, in its environment.
// Visitors that have proved nothing are few, have little time, and leave when others come.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/own_folder.h"
#include "base/unique_fd.h"
#include "control/control.h"
#include "wireup/protocol.h"
#include "wireup/share_store.h"

namespace tutti::launch::daemon {

class RankDoor {
 public:
  // The descriptor of the segment that a rank who proved itself is given; -1: none.
  using Segments = std::function<int(int local, wireup::DoorWish wish)>;
  // A rank has proved itself: its control socket, besides the inherited one.
  using Enters = std::function<void(int local, UniqueFd control)>;
  // Which of its MPI programs a rank is in; nothing: it has ended.
  using Generation = std::function<std::optional<std::uint32_t>(int local)>;
  struct Answers {
    Segments segments;
    Enters enters;
    Generation generation;
  };
  RankDoor(control::Loop& loop, Answers answers) : loop_(loop), answers_(std::move(answers)) {}
  ~RankDoor();
  RankDoor(const RankDoor&) = delete;
  RankDoor& operator=(const RankDoor&) = delete;

  // What so many ranks ask for, on the job's host of this number. The error says why there is no
  // door; ranks that inherit their descriptors do without.
  Result<void> open(std::size_t ranks, int host, const std::string& temporary_folder);
  // For the environment of a rank; empty: there is no door.
  const std::string& path() const { return path_; }
  std::string key_of(int local) const;
  // Of a rank whose process has ended: nothing of it is shared any more, whoever has its
  // connections.
  void forget(int local);

 private:
  using Key = std::array<std::uint8_t, 2 * wireup::kDoorSecretBytes>;
  struct Visitor {
    UniqueFd fd;
    control::Loop::TimerId limit = 0;
  };
  void enter(UniqueFd fd);
  bool make_room();
  struct Proved;
  struct Sharing {
    int local;
    UniqueFd line;
  };
  void hear(std::uint64_t number);
  void drop(std::uint64_t number);
  void let_in(const Proved& who);
  void share(Proved& who);
  void give(const Proved& who);
  void withdraw(std::uint32_t file);
  void close_aside(UniqueFd file);

  control::Loop& loop_;
  const Answers answers_;
  OwnFolder folder_;
  std::string path_;
  UniqueFd listener_;
  control::Listener watch_{loop_};
  std::vector<Key> keys_;
  std::map<std::uint64_t, Visitor> visitors_;  // who has said nothing yet; the oldest first
  std::uint64_t next_ = 0;
  std::optional<wireup::ShareStore> files_;
  std::map<std::uint32_t, Sharing> sharing_;  // by number of the file
};

}  // namespace tutti::launch::daemon
