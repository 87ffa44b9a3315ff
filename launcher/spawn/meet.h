// Hosts that come by themselves: a meeting at an address, for `prun --listen` and torchrun.
//
// Whoever comes proves that he knows the key, and so does the meeting, over fresh public keys of
// both (secure/secure.h). Then the connection is the start-up channel, sealed: who joins serves
// as a daemon on it. Nodes of a torchrun may meet without a key: then nobody who only listens
// learns anything, but who comes may be anybody, unless he is on this machine.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "control/control.h"
#include "daemon/daemon.h"

namespace tutti::launch::spawn {

struct HostAndPort {
  std::string address;  // empty: every one of this machine
  int port = 0;         // 0: one that is free
};
// "ADDRESS:PORT", "[v6]:PORT", "PORT" or "ADDRESS"; `port` where none is given.
Result<HostAndPort> parse_host_and_port(const std::string& text, int port);

// What both sides know before they meet.
struct MeetingKey {
  secure::Key secret{};
  bool is_open = false;  // no key: anybody may come
  std::string job;       // nodes that look for another one are refused
};

struct JoiningHost {
  std::string id;      // the same when it comes again
  std::string name;    // of its host
  int slots = 1;       // ranks it is for
  int node_rank = -1;  // that it was given by hand; -1: none
  UniqueFd channel;
  std::unique_ptr<secure::RecordStream> stream{};
  std::string already{};  // read from it
};

class HostMeeting {
 public:
  // Errors: the address is taken or not ours.
  static Result<std::unique_ptr<HostMeeting>> open(const HostAndPort& at, const MeetingKey& key);
  ~HostMeeting();
  HostMeeting(const HostMeeting&) = delete;
  HostMeeting& operator=(const HostMeeting&) = delete;

  int port() const { return port_; }
  bool is_open() const { return key_.is_open; }  // anybody may come
  // Lets people in while `loop` runs; `changed` after each who came or went.
  void attach(control::Loop& loop, std::function<void()> changed);
  void detach();
  // Who waits; taking somebody out of the list is up to the caller.
  std::vector<std::unique_ptr<JoiningHost>>& waiting() { return waiting_; }
  // Gives the port up (for the ranks' own use), and takes it again.
  void close_door();
  Result<void> open_door();

 private:
  struct Visitor;
  HostMeeting() = default;
  void let_in();
  void enter(UniqueFd fd);
  bool make_room();
  void drop(Visitor* visitor);
  void refuse(Visitor* visitor, const std::string& why);
  void hear(Visitor* visitor);
  void greet(Visitor* visitor, const std::string& line);
  void prove(Visitor* visitor, const std::string& line);
  void make_wait(Visitor* visitor);
  void seat(std::unique_ptr<JoiningHost> fresh);
  void watch(JoiningHost& one);
  void leave(JoiningHost* one);
  void beat();

  HostAndPort at_;
  MeetingKey key_;
  int port_ = 0;
  UniqueFd door_;
  std::unique_ptr<control::Listener> guard_;  // while a loop runs and the door is open
  std::vector<std::unique_ptr<Visitor>> visitors_;
  std::vector<std::unique_ptr<JoiningHost>> waiting_;
  control::Loop* loop_ = nullptr;
  control::Loop::TimerId beat_ = 0;
  std::function<void()> changed_;
};

// Goes there, and waits until it is let in; tries again for `patience_s`. Blocks. `self`: who
// comes; its channel is set, and what seals it.
Result<void> go_to_meeting(const HostAndPort& where, const MeetingKey& key, double patience_s,
                           JoiningHost* self);
// A number nobody else has.
std::string fresh_id();
// Addresses of both ends of a connection: ours, theirs.
std::string own_address(int fd);
std::string peer_address(int fd);

// Hosts whose daemons are there already.
std::unique_ptr<control::Spawner> spawn_joined(control::Loop& loop, control::SpawnReports reports,
                                               std::vector<std::unique_ptr<JoiningHost>> hosts);

}  // namespace tutti::launch::spawn
