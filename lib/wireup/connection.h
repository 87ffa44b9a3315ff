// One connection of the board of torchrun's variables: texts, each whole or not at all; sealed from
// the moment there is a stream. Never blocks, and keeps no more than has arrived. Private to
// wireup.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/unique_fd.h"
#include "secure/secure.h"

namespace tutti::wireup {

class BoardConnection {
 public:
  BoardConnection() = default;
  explicit BoardConnection(UniqueFd fd);

  int fd() const { return fd_.get(); }
  bool is_open() const { return fd_.is_open(); }
  void close() { fd_.reset(); }
  // What is put and taken from now on.
  void seal(const secure::SessionKeys& keys);

  void put(std::string_view text);  // queued
  bool has_queued() const { return written_ < queued_.size(); }
  // Writes what the kernel takes, and reads what is there. False: the other side is gone, or what
  // came is not what was sent.
  [[nodiscard]] bool move();
  // The next text; nothing: it is not whole yet. One longer than `most` closes it.
  std::optional<std::string> take(std::size_t most);
  // Both, until a text is there or the moment has come.
  std::optional<std::string> wait_for_text(std::size_t most, std::int64_t until_ns);

 private:
  bool flush();
  bool fill();

  UniqueFd fd_;
  std::unique_ptr<secure::RecordStream> stream_;
  std::string queued_, arrived_;
  std::size_t written_ = 0, taken_ = 0;
};

}  // namespace tutti::wireup
