// What passes through prun: ranks' output to the terminal and into files, prun's input to ranks,
// and what it says itself.
//
// Owner: the Head, which hears what must be done for the job: a reader is gone, all is written.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "control/control.h"
#include "control/terminal.h"
#include "daemon/output.h"
#include "job/files.h"
#include "job/fold.h"
#include "job/rounds.h"

namespace tutti::launch::job {

class Streams {
 public:
  struct Calls {
    std::function<void(int error)> broke;  // somebody takes no more of what is written
    std::function<void()> written;         // nothing is on its way
    std::function<void(int host, const control::Message& message)> send;
  };
  Streams(control::Loop& loop, const Round& round, Calls calls);

  control::Terminal& terminal() { return terminal_; }
  // Where the streams of these ranks go; then, before a rank writes: each file that prun writes is
  // emptied, and one that cannot be written is told at once.
  void direct(const control::Launch& launch);
  void open_files();
  void feed_input();

  void take(int host, const control::Output& output);
  void take(int host, const control::InputTaken& taken);
  void host_left(int host);  // what it sent of a line is shown

  // The folder of a rank's output, or nothing.
  std::string place_of(int rank) const;
  bool shows_errors_of(int rank) const { return (flows_.at(at(rank)).to_terminal & 2) != 0; }
  // The end: lines that wait are shown, files are closed.
  void show_rest();
  void close_files() { files_.close(); }
  bool is_idle() const { return unwritten() == 0 && files_.is_idle(); }
  // What was not taken, in words; empty: all was. `is_stuck`: its reader took nothing until now.
  std::string losses(bool* is_stuck);

 private:
  // Where the streams of a rank go that pass through here.
  struct Flow {
    int through_head = 0, to_terminal = 3;  // streams: 1 stdout, 2 stderr
  };
  struct Host {
    std::vector<control::Output> parts;  // of a line whose end is on its way
    std::uint64_t output_owed = 0;       // bytes of output that it has not been told of
    std::uint64_t input_taken = 0;
    bool reads_no_more = false;  // it has left, or no rank there reads any more
  };
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  std::size_t unwritten() const { return terminal_.queued_bytes() + files_.queued_bytes(); }
  void on_written();
  void show(const control::Output& output);
  void show_parts(std::vector<control::Output>& parts);
  void repay(int host, std::uint64_t least);
  void put_into_file(const control::Output& output, const std::string& pattern);
  void show_folded(bool all);
  bool rewind_input();
  daemon::OutputOwner writer_of(int rank) const;

  control::Loop& loop_;
  const Round& round_;
  const JobRequest& request_;
  Calls calls_;
  control::Terminal terminal_;
  SharedFiles files_;
  std::vector<Host> hosts_;
  std::vector<Flow> flows_;
  std::uint64_t job_id_ = 0;
  std::string out_file_, err_file_;   // patterns
  std::unique_ptr<LineFolder> fold_;  // null: lines are shown as they come
  bool fold_timer_ = false;
  std::uint64_t input_sent_ = 0, input_freed_ = 0;
};

}  // namespace tutti::launch::job
