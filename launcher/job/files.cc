// The thread is given all that is there, and again when it is done. What a FIFO does not take then
// waits for its reader in the loop.
#include "job/files.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "daemon/aside.h"
#include "daemon/output_file.h"

namespace tutti::launch::job {

int own_stream(const std::string& pattern) {
  constexpr std::string_view kFolder = "/dev/fd/";
  if (pattern == "/dev/stdout") return 1;
  if (pattern == "/dev/stderr") return 2;
  if (!pattern.starts_with(kFolder)) return 0;
  return static_cast<int>(text::parse_int(pattern.substr(kFolder.size())).value_or(0));
}

bool is_written_here(const std::string& pattern, std::size_t hosts) {
  if (own_stream(pattern) != 0) return true;
  if (hosts < 2 || pattern.empty() || pattern == "/dev/null") return false;
  for (std::size_t at = pattern.find('%'); at != std::string::npos && at + 1 < pattern.size();
       at = pattern.find('%', at)) {
    at = pattern.find_first_not_of("0123456789", at + 1);  // "%3r"
    if (at == std::string::npos) break;
    const char letter = pattern[at++];
    if (letter == 'r' || letter == 'h' || letter == 'n') return false;
  }
  return true;
}

// What the thread touches while it is at work, and the loop else.
struct SharedFiles::Inside {
  struct File {
    daemon::FileId id;
    std::unique_ptr<daemon::OutputFile> open;  // null: it takes no more, or is closed
    Standing standing;
  };

  explicit Inside(bool appends) : opener(appends) {}
  void work(bool closes);
  File& file_named(const std::string& path);
  static void put(File& file, std::string_view text);
  static void close(File& file);

  daemon::FileOpener opener;
  std::vector<Piece> pieces;
  std::map<std::string, std::shared_ptr<File>> files;  // one may have several names
};

void SharedFiles::Inside::work(bool closes) {
  for (const auto& [path, file] : files) put(*file, "");  // what waited
  for (const Piece& piece : std::exchange(pieces, {})) put(file_named(piece.path), piece.text);
  if (closes)
    for (const auto& [path, file] : files) close(*file);
}

SharedFiles::Inside::File& SharedFiles::Inside::file_named(const std::string& path) {
  std::shared_ptr<File>& named = files[path];
  if (named) return *named;
  daemon::Opened opened = opener.open(path);
  for (const auto& [name, other] : files)
    if (other && other->open && opened.fd.is_open() && other->id == opened.id) named = other;
  if (named) return *named;
  named = std::make_shared<File>();
  named->id = opened.id;
  named->standing.problem = std::move(opened.problem);
  if (opened.fd.is_open()) named->open = std::make_unique<daemon::OutputFile>(std::move(opened.fd));
  return *named;
}

void SharedFiles::Inside::put(File& file, std::string_view text) {
  if (!file.open) {
    file.standing.lost += text.size();
    return;
  }
  const bool good = file.open->write(text);
  const int error = errno;
  file.standing.waiting = file.open->waiting().size();
  if (good) return;
  file.standing.lost += std::exchange(file.standing.waiting, 0);
  file.standing.problem = std::strerror(error);
  file.open.reset();
}

void SharedFiles::Inside::close(File& file) {
  if (!file.open || file.standing.waiting > 0) return;
  if (const int error = error_of_closing(file.open->fd()); error != 0)
    file.standing.problem = std::strerror(error);
  file.open.reset();
}

SharedFiles::SharedFiles(control::Loop& loop, bool appends, std::function<void(int)> broken,
                         std::function<void()> drained)
    : loop_(loop),
      broken_(std::move(broken)),
      drained_(std::move(drained)),
      inside_(std::make_shared<Inside>(appends)) {}

// A thread at work keeps what it has; a loop that has ended calls nobody back.
SharedFiles::~SharedFiles() {
  forget_watched();
}

std::size_t SharedFiles::queued_bytes() const {
  std::uint64_t sum = 0;
  for (const Piece& piece : next_) sum += piece.text.size();
  for (const auto& [path, bytes] : given_) sum += bytes;
  for (const auto& [path, standing] : standing_) sum += standing.waiting;
  for (const auto& [fd, outlet] : own_) sum += outlet->queued_bytes();
  return sum;
}

void SharedFiles::write(const std::string& path, std::string_view text) {
  if (write_own(path, text)) return;
  next_.push_back({path, std::string(text)});
  go_on();
}

bool SharedFiles::write_own(const std::string& path, std::string_view text) {
  const int fd = own_stream(path);
  if (fd == 0) return false;
  auto& outlet = own_[fd];
  if (!outlet) {
    outlet = std::make_unique<control::Outlet>(loop_, fd, broken_);
    outlet->on_drained([this] {
      if (queued_bytes() == 0) drained_();
    });
  }
  outlet->write(text);
  return true;
}

void SharedFiles::close() {
  closing_ = true;
  if (!inside_->files.empty() || busy_ || !next_.empty()) go_on();
}

// The thread may close them.
void SharedFiles::forget_watched() {
  for (const int fd : std::exchange(watched_, {})) loop_.forget(fd);
}

void SharedFiles::go_on() {
  if (std::exchange(busy_, true)) return;
  forget_watched();
  for (const Piece& piece : next_) given_[piece.path] += piece.text.size();
  inside_->pieces = std::exchange(next_, {});
  daemon::aside(
      loop_, [inside = inside_, closes = closing_] { inside->work(closes); },
      [this] { take_stock(); });
}

// The thread is done: how the files stand now.
void SharedFiles::take_stock() {
  busy_ = false;
  given_.clear();
  bool any_broken = false;
  std::set<const Inside::File*> seen;
  for (const auto& [path, file] : inside_->files) {
    if (!seen.insert(file.get()).second) continue;
    any_broken = any_broken || !file->standing.problem.empty();
    standing_[path] = file->standing;
    if (file->standing.waiting == 0) continue;
    watched_.push_back(file->open->fd());
    loop_.on_writable(watched_.back(), [this] { go_on(); });
  }
  if (any_broken && !std::exchange(told_, true)) broken_(0);
  if (!next_.empty()) return go_on();
  if (queued_bytes() == 0) drained_();
}

std::vector<std::string> SharedFiles::losses() {
  std::map<std::string, Standing> all = standing_;
  for (auto& [path, one] : all) {
    if (one.problem.empty() && one.waiting > 0) one.problem = "its reader takes nothing";
    one.lost += one.waiting;
  }
  for (const auto& [path, bytes] : given_) all[path].lost += bytes;
  for (const Piece& piece : next_) all[piece.path].lost += piece.text.size();
  for (const auto& [fd, outlet] : own_) {
    const control::Outlet::Loss loss = outlet->loss();
    if (loss.error == 0 || loss.error == EPIPE) continue;
    all["/dev/fd/" + std::to_string(fd)] = {
        0, loss.bytes,
        loss.error == EAGAIN ? "its reader takes nothing" : std::strerror(loss.error)};
  }
  std::vector<std::string> lines;
  for (const auto& [path, one] : all) {
    if (one.lost == 0 && one.problem.empty()) continue;
    const std::string why = one.problem.empty() ? "its file system does not answer" : one.problem;
    lines.push_back((one.lost == 0 ? "cannot write to "
                     : one.lost == 1
                         ? "1 byte of output could not be written to "
                         : std::to_string(one.lost) + " bytes of output could not be written to ") +
                    path + ": " + why);
  }
  return lines;
}

}  // namespace tutti::launch::job
