// The ranks of this host: started, listened to, fed, signalled and ended.
//
// Owner: the Daemon, which passes on what the head says and gives `say` to answer it. Reports
// about a rank come in the order: what it wrote, then that it ended.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control/control.h"
#include "daemon/door.h"
#include "daemon/find_files.h"
#include "daemon/generations.h"
#include "daemon/launch.h"
#include "daemon/servers.h"
#include "topo/topo.h"
#include "wireup/protocol.h"

namespace tutti::launch::daemon {

class Ranks {
 public:
  using Say = std::function<void(const control::Message&)>;

  Ranks(control::Loop& loop, Say say);
  ~Ranks() = default;

  // What a launch needs to know of the place.
  struct Place {
    int host = 0;
    std::string library_folder;
    std::string pmix_program;
    std::vector<std::string> environment;
    std::optional<topo::Machine> machine;
    std::function<void(int stream, std::string_view text)> show;  // output here; null: to the head
    int files[2] = {-1, -1};  // where output goes at once; -1: through the head
    std::string directory;    // instead of the head's; empty: that one
  };
  // Starts everything. Ranks that cannot start are reported as ended; errors are the host's.
  Result<void> launch(control::Launch launch, const Place& place);

  void input(const control::Input& input);
  void resize(const control::Window& size);  // of ranks with a terminal
  void publish(const control::Addresses& addresses);
  void gone(const control::Gone& gone);
  void look(const control::Look& look);
  void hear_servers(const control::Message& message) { servers_.hear(message); }
  void close_servers() { servers_.close(); }
  void signal(int number);
  void pause(bool on);  // meanwhile no rank starts
  void end(int grace_ms);
  void on_child_ended(pid_t pid, int wait_status);  // of any child; others' are ignored
  void hold_output(bool hold);
  void hold_words(bool hold);  // what ranks say waits, since prun is slow to take it
  bool all_ended() const { return ranks_run_ && ended_ == ranks_.size(); }
  // Waits for what filters of ranks that have ended still write (`| tee log` in a script), kills
  // what is left behind, shows the last of what was written, and says so.
  void finish(std::function<void()> done);
  void hurry();  // no waiting any more

 private:
  // ranks.cc
  Wanted wanted() const;
  void on_found(Found&& found);
  void start_more();
  Result<void> make_job_segment(const Place& place);
  // Null: it has not joined, and costs no memory as long as nobody looks; or it ended, and all
  // others are in later programs.
  const wireup::LocalRecord* record_of(const RankProcess& rank) const;
  Result<void> check_open_files(const control::Launch& launch) const;
  void open_door();
  int cores_for(const RankProcess& rank) const;
  CannotStart problem_of(const RankProcess& rank) const;
  Result<void> start(RankProcess& rank);
  void watch(RankProcess& rank);
  void report_not_started(RankProcess& rank, const CannotStart& problem);

  // serving.cc
  void make_servers();
  void on_served(const std::string& problem);
  RankProcess* rank_numbered(int rank);

  // look.cc
  struct Reading;  // a debugger of ours at work
  void look_for_stack(RankProcess& rank);
  void take_stack(RankProcess& rank);
  void watch_tool(const std::shared_ptr<Reading>& reading);
  void tool_ended(pid_t pid);
  static pid_t program_of(const RankProcess& rank);
  static int state_of(RankProcess& rank);
  std::vector<control::SeenRank> places();
  void watch_for_standstill();
  static bool waits_in_mpi(RankProcess& rank, const wireup::WatchRecord& record);
  enum class Which { all, standing, waiting };
  std::vector<control::SeenCall> calls_of_ranks(Which which);

  // signal.cc
  static void send_signal(const RankProcess& rank, int number);

  // stream.cc
  OutputOwner writer_of(const RankProcess& rank) const;
  std::vector<std::string> own_words(const control::AppPart& part, const RankProcess& rank) const;
  LineCutter& lines_of(RankProcess& rank, int stream);
  void show_rest(RankProcess& rank, int stream);
  void watch_output(RankProcess& rank, int stream);
  bool read_output(RankProcess& rank, int stream);
  void read_waiting(RankProcess& rank, int stream);
  void read_rest(RankProcess& rank, int stream);
  void show(RankProcess& rank, int stream, Parts&& parts);
  void show_part(RankProcess& rank, int stream, std::string&& text, bool more);
  void on_file(RankProcess& rank, int stream, int error);
  void file_failed(RankProcess& rank, int stream, int error);
  void show_here_or_there(const RankProcess& rank, int stream, std::string&& text, bool more);
  static bool may_ask(const RankProcess& rank, int stream);
  void show_piece_soon();
  void write_input();
  std::size_t write_input_to(RankProcess& rank, std::size_t offset);

  // linger.cc
  bool writes_on() const;
  static bool has_unwritten(const RankProcess& rank, int stream);
  void tell_unwritten();
  void tell_left_behind();
  void linger();
  void finish_files();
  bool has_time(const RankProcess& rank, int stream) const;

  // talk.cc
  void hear_of_exec(RankProcess& rank);
  void tell_started();
  void watch_control(RankProcess& rank, int fd);
  bool read_control(RankProcess& rank, int fd);
  bool may_say(RankProcess& rank, std::size_t bytes);
  bool may_repeat(RankProcess& rank, int& times, const char* what);
  void abort(RankProcess& rank, int status, std::string_view reason, bool follows);
  void take_address(const RankProcess& rank, std::string_view address);
  void forget_control(RankProcess& rank, int fd);
  void enter(int local, UniqueFd control);
  void read_all_control(RankProcess& rank);
  int segment_for(int local, wireup::DoorWish wish);
  Result<void> step_on(RankProcess& rank);
  bool drop_passed();
  void hear(RankProcess& rank, pid_t sender, const wireup::RankMessage& head,
            std::string_view payload);
  void send_addresses();
  void note_place(const RankProcess& rank, control::RankEnded& report) const;
  void report_end(RankProcess& rank);

  control::Loop& loop_;
  Say say_;
  control::Launch launch_;
  Place place_;
  rlimit open_files_limit_{};
  RankFds fds_;
  Generations generations_;
  std::unique_ptr<RankDoor> door_;
  std::vector<App> apps_;
  std::vector<std::string> file_problems_;  // by 2 * local rank + stream
  std::unique_ptr<RankStarter> starter_;    // null: nothing starts
  std::size_t next_to_start_ = 0;
  bool is_paused_ = false, start_waits_ = false;
  Servers servers_;
  std::deque<RankProcess> ranks_;                   // addresses stay: callbacks hold them
  std::vector<std::pair<pid_t, int>> by_pid_;       // of those that run: local rank
  std::vector<std::shared_ptr<Reading>> readings_;  // whose tools are not reaped yet
  std::size_t settled_ranks_ = 0;                   // whose program runs, or will not
  bool has_told_started_ = false;
  bool told_failed_file_ = false;
  std::vector<control::DaemonFailed> late_problems_;  // of files; the head hears of a start first
  bool any_joined_ = false;
  bool hold_ = false, words_held_ = false;
  bool ending_ = false;
  bool piece_timer_ = false;
  control::Loop::TimerId end_timer_ = 0;
  control::Addresses pending_;
  std::size_t addresses_sent_ = 0;
  control::Loop::TimerId address_timer_ = 0;
  std::string input_;
  std::map<int, std::size_t> input_offsets_;  // by local rank, into input_
  bool input_ended_ = false, told_input_closed_ = false;
  bool ranks_run_ = false;  // all have been started
  std::function<void()> finished_;
  control::Loop::TimerId linger_timer_ = 0;
  bool finishes_files_ = false;
  std::int64_t last_byte_ns_ = 0, lingers_until_ns_ = 0, files_until_ns_ = 0;
  std::size_t ended_ = 0;
  std::uint64_t lines_shown_ = 0;  // on the terminal, of this host's ranks
};

}  // namespace tutti::launch::daemon
