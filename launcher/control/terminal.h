// The standard streams of this process: shared with others, possibly slow, possibly closed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "control/control.h"
#include "control/raw.h"

namespace tutti::launch::control {

// One stream that is written without ever blocking: what it does not take yet is queued.
class StreamWriter {
 public:
  // `broken(error)`: it takes no more; called once, from the loop.
  StreamWriter(Loop& loop, int fd, std::function<void(int error)> broken);
  ~StreamWriter();
  StreamWriter(const StreamWriter&) = delete;
  StreamWriter& operator=(const StreamWriter&) = delete;

  void write(std::string_view text);
  std::size_t queued_bytes() const { return queue_.size() - written_; }
  void on_drained(std::function<void()> drained) { drained_ = std::move(drained); }

  struct Loss {
    std::uint64_t bytes = 0;  // that it did not take
    int error = 0;            // why; 0: nothing is lost
  };
  // After the last write: what is queued still counts as lost. A full disk or quota may be told
  // only when a file is closed; that is asked here.
  Loss loss();
  bool is_file() const;
  std::string take_rest();  // what is queued, for somebody else to write

 private:
  void drain();
  void break_off(int error);
  int descriptor() const { return own_.is_open() ? own_.get() : fd_; }
  ssize_t put(std::string_view text);

  enum class Kind { unknown, file, socket, own, others };
  Kind kind();

  Loop& loop_;
  const int fd_;
  std::function<void(int)> broken_;
  std::function<void()> drained_;
  Kind kind_ = Kind::unknown;
  UniqueFd own_;  // the same pipe or terminal, opened anew so as not to block; or closed
  std::string queue_;
  std::size_t written_ = 0;
  bool waiting_ = false;
  Loss loss_;
};

// "prun: line" and its end. What files, hosts and ranks have said in it does not steer the
// terminal.
std::string own_line(std::string_view line);

// prun's own stdin, stdout and stderr.
class Terminal {
 public:
  // `broken(stream, error)`: stdout or stderr takes no more; called once per stream.
  Terminal(Loop& loop, const std::function<void(int stream, int error)>& broken);
  ~Terminal();

  void write(int stream, std::string_view text);  // 1 or 2
  // One line of prun's own, on stderr, after what was written before.
  void say(std::string_view line);
  // A line that is replaced by the next and vanishes before other output; terminals only.
  void status(std::string_view line);
  std::size_t queued_bytes() const { return out_.queued_bytes() + err_.queued_bytes(); }
  void on_drained(const std::function<void()>& drained);  // of both
  std::string take_unsaid() { return err_.take_rest(); }  // of stderr
  StreamWriter::Loss loss(int stream) { return stream == 2 ? err_.loss() : out_.loss(); }

  // Reads stdin while there is room; `end` is true once, with the last of it.
  void read_input(std::function<void(std::string text, bool end)> take);
  void allow_input(std::size_t bytes);  // so many more
  void stop_input();
  RawTerminal& raw() { return raw_; }  // --pty: as long as ranks run

 private:
  void read_some();

  Loop& loop_;
  std::function<void(std::string, bool)> take_;
  StreamWriter out_, err_;
  bool status_shown_ = false;
  bool reading_ = false;
  std::size_t room_ = 0;
  RawTerminal raw_;
};

// Where no loop runs any more: text for stderr, and the reader is waited for as long as this at
// most, or until a signal that ends. What it does not take is dropped.
void last_words(std::string_view text, std::chrono::milliseconds patience);

// "588 bytes of standard output could not be written: No space left on device"; empty: none are
// lost, or nobody wants them any more (a reader that has seen enough).
std::string words_of(int stream, const StreamWriter::Loss& loss);

}  // namespace tutti::launch::control
