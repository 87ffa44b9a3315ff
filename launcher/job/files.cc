// A thread opens each file; daemon::RankFile writes it.
#include "job/files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <set>
#include <utility>

#include "base/text.h"
#include "daemon/aside.h"
#include "daemon/output_file.h"
#include "daemon/rank_file.h"

namespace tutti::launch::job {

int own_stream(const std::string& pattern) {
  constexpr std::string_view kFolder = "/dev/fd/";
  if (pattern == "/dev/stdout") return 1;
  if (pattern == "/dev/stderr") return 2;
  if (!pattern.starts_with(kFolder)) return 0;
  return static_cast<int>(text::parse_int(pattern.substr(kFolder.size())).value_or(0));
}

namespace {

// Whether what one of these letters stands for is part of the name.
bool has_one_of(std::string_view letters, const std::string& pattern) {
  for (std::size_t at = pattern.find('%'); at != std::string::npos && at + 1 < pattern.size();
       at = pattern.find('%', at)) {
    at = pattern.find_first_not_of("0123456789", at + 1);  // "%3r"
    if (at == std::string::npos) break;
    if (letters.find(pattern[at++]) != std::string_view::npos) return true;
  }
  return false;
}

bool is_file(const std::string& pattern) {
  return own_stream(pattern) == 0 && !pattern.empty() && pattern != "/dev/null";
}

}  // namespace

bool is_written_here(const std::string& pattern, std::size_t hosts) {
  return own_stream(pattern) != 0 || (hosts > 1 && is_file(pattern) && !has_one_of("rhn", pattern));
}

bool is_shared(const std::string& pattern, std::size_t hosts) {
  const bool tells_ranks = has_one_of("r", pattern) ||
                           (has_one_of("l", pattern) && (hosts < 2 || has_one_of("hn", pattern)));
  return is_file(pattern) && !tells_ranks;
}

// One may have several names.
struct SharedFiles::File {
  daemon::FileId id{};
  std::unique_ptr<daemon::RankFile> open;  // null: it is being opened, or takes no more
  std::string before;                      // what came while it is being opened
  bool is_opening = true;
  std::uint64_t lost = 0;
  std::string problem;

  bool is_idle() const { return !is_opening && (!open || open->is_idle()); }
  std::uint64_t waiting() const { return before.size() + (open ? open->waiting() : 0); }
};

// What the threads that open files share.
struct SharedFiles::Opening {
  explicit Opening(bool appends) : opener(appends) {}
  std::mutex mutex;
  daemon::FileOpener opener;
};

SharedFiles::SharedFiles(control::Loop& loop, bool appends, std::function<void(int)> broken,
                         std::function<void()> drained)
    : loop_(loop),
      broken_(std::move(broken)),
      drained_(std::move(drained)),
      opening_(std::make_shared<Opening>(appends)) {}

// A thread at work keeps what it has; a loop that has ended calls nobody back.
SharedFiles::~SharedFiles() = default;

std::size_t SharedFiles::queued_bytes() const {
  std::uint64_t sum = 0;
  for (const auto& [path, file] : files_)
    if (is_first_name(path, *file)) sum += file->waiting();
  for (const auto& [fd, outlet] : own_) sum += outlet->queued_bytes();
  return sum;
}

bool SharedFiles::is_idle() const {
  return queued_bytes() == 0 && std::all_of(files_.begin(), files_.end(), [](const auto& named) {
           return named.second->is_idle();
         });
}

bool SharedFiles::is_first_name(const std::string& path, const File& file) const {
  const auto first = std::find_if(files_.begin(), files_.end(),
                                  [&](const auto& named) { return named.second.get() == &file; });
  return first->first == path;
}

void SharedFiles::write(const std::string& path, std::string_view text) {
  if (write_own(path, text)) return;
  std::shared_ptr<File>& named = files_[path];
  if (!named) {
    named = std::make_shared<File>();
    open(path);
  }
  put(*named, text);
}

void SharedFiles::put(File& file, std::string_view text) {
  if (text.empty()) return;
  if (file.is_opening)
    file.before.append(text);
  else if (file.open)
    file.open->write(text);
  else
    file.lost += text.size();
}

bool SharedFiles::write_own(const std::string& path, std::string_view text) {
  const int fd = own_stream(path);
  if (fd == 0) return false;
  auto& outlet = own_[fd];
  if (!outlet) {
    outlet = std::make_unique<control::StreamWriter>(loop_, fd, broken_);
    outlet->on_drained([this] { look_whether_drained(); });
  }
  outlet->write(text);
  return true;
}

void SharedFiles::open(const std::string& path) {
  const auto opened = std::make_shared<daemon::OpenedFile>();
  daemon::aside(
      loop_,
      [path, opened, opening = opening_] {
        const std::lock_guard lock(opening->mutex);
        *opened = opening->opener.open(path);
      },
      [this, path, opened] { take_opened(path, std::move(*opened)); });
}

void SharedFiles::take_opened(const std::string& path, daemon::OpenedFile opened) {
  std::shared_ptr<File>& named = files_[path];
  const std::string before = std::exchange(named->before, {});
  named->is_opening = false;
  const auto other = std::find_if(files_.begin(), files_.end(), [&](const auto& each) {
    return each.second->open && opened.fd.is_open() && each.second->id == opened.id;
  });
  if (other != files_.end()) {
    named = other->second;
    put(*named, before);
    return look_whether_drained();
  }
  if (!opened.fd.is_open()) {
    named->lost += before.size();
    return settle(*named, opened.problem);
  }
  File& file = *named;
  file.id = opened.id;
  file.open = std::make_unique<daemon::RankFile>(
      loop_, std::move(opened),
      [this, &file](int error) { settle(file, error == 0 ? "" : std::strerror(error)); });
  put(file, before);
  if (closing_ && file.open) file.open->finish();
  look_whether_drained();
}

// All that it was given is written, or it takes no more.
void SharedFiles::settle(File& file, const std::string& problem) {
  if (!problem.empty()) {
    file.problem = problem;
    if (const auto open = std::move(file.open); open) file.lost += open->take_rest().size();
    if (!std::exchange(told_, true)) broken_(0);
  }
  look_whether_drained();
}

void SharedFiles::look_whether_drained() {
  if (queued_bytes() == 0) drained_();
}

void SharedFiles::close() {
  closing_ = true;
  for (const auto& [path, file] : files_)
    if (file->open && is_first_name(path, *file)) file->open->finish();
}

std::vector<std::string> SharedFiles::losses() {
  std::vector<std::string> lines;
  const auto tell = [&](const std::string& path, std::uint64_t lost, const std::string& why) {
    lines.push_back((lost == 0 ? "cannot write to "
                     : lost == 1
                         ? "1 byte of output could not be written to "
                         : std::to_string(lost) + " bytes of output could not be written to ") +
                    path + ": " + why);
  };
  for (const auto& [path, file] : files_) {
    const std::uint64_t lost = file->lost + file->waiting();
    if ((lost == 0 && file->problem.empty()) || !is_first_name(path, *file)) continue;
    const bool stands = file->is_opening || (file->open && file->open->is_at_work());
    tell(path, lost,
         !file->problem.empty() ? file->problem
         : stands               ? "its file system does not answer"
                                : "its reader takes nothing");
  }
  for (const auto& [fd, outlet] : own_) {
    const control::StreamWriter::Loss loss = outlet->loss();
    if (loss.error == 0 || loss.error == EPIPE) continue;
    tell("/dev/fd/" + std::to_string(fd), loss.bytes,
         loss.error == EAGAIN ? "its reader takes nothing" : std::strerror(loss.error));
  }
  return lines;
}

}  // namespace tutti::launch::job
