#include "daemon/look_up.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <set>

#include "base/quiet_thread.h"
#include "daemon/rank_env.h"
#include "job/exit_status.h"

namespace tutti::launch::daemon {
namespace {

bool is_folder(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

// Makes this and all missing folders above it.
bool make_folders(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1))
    ::mkdir(path.substr(0, slash).c_str(), 0777);
  return ::mkdir(path.c_str(), 0777) == 0 || errno == EEXIST;
}

// A file that several ranks share (no %r in its name) is appended to, line by line.
Opened open_file(const std::string& path, bool empties) {
  // O_NONBLOCK: a FIFO that nobody reads is told, not waited for.
  const int how = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK | (empties ? O_TRUNC : 0);
  const std::string folder = path.substr(0, path.rfind('/'));
  Opened file;
  if (folder.empty() || make_folders(folder)) file.fd.reset(::open(path.c_str(), how, 0666));
  if (!file.fd.is_open())
    file.problem =
        "cannot write to " + path + ": " +
        (errno == ENXIO ? "nobody reads that FIFO; start its reader first" : std::strerror(errno));
  return file;
}

App look_up_app(const control::AppPart& part, const Wanted& wanted,
                std::vector<std::string>& notes) {
  App app;
  const bool own = !wanted.directory.empty() && !part.directory_required;
  app.directory = own ? wanted.directory : part.working_directory;
  if (!is_folder(app.directory)) {
    if (part.directory_required) {
      app.problem = {job::status_of(job::ExitStatus::not_found),
                     "no folder " + app.directory + " to work in"};
      return app;
    }
    const std::string home = value_in(wanted.environment, "HOME");
    app.directory = is_folder(home) ? home : "/";
    notes.push_back("host " + wanted.host + " has no folder " + part.working_directory +
                    "; its ranks start in " + app.directory);
  }
  RankFacts facts;
  facts.program = &part;
  const auto environment = rank_environment(wanted.environment, facts);
  app.problem =
      find_program(part.argv.at(0), value_in(environment, "PATH"), app.directory, &app.path);
  if (app.problem.reason.empty())
    app.needs = serve::needs_of(
        app.path.starts_with('/') ? app.path : app.directory + "/" + app.path, part.argv);
  return app;
}

// Shared by the thread and the loop: whichever ends first leaves it to the other.
struct Task {
  Wanted wanted;
  Found found;
  UniqueFd bell;
};

}  // namespace

Found look_up(const Wanted& wanted) {
  Found found;
  for (const control::AppPart& part : wanted.apps)
    found.apps.push_back(look_up_app(part, wanted, found.notes));
  std::set<std::string> seen;
  for (const std::string& path : wanted.files) {
    if (path.empty())
      found.files.emplace_back();
    else
      found.files.push_back(open_file(path, seen.insert(path).second && !wanted.appends));
  }
  return found;
}

void look_up(control::Loop& loop, Wanted wanted, std::function<void(Found&&)> done) {
  auto task = std::make_shared<Task>();
  task->wanted = std::move(wanted);
  task->bell.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  const int bell = task->bell.get();
  std::thread thread;
  if (bell >= 0)
    thread = quiet_thread([task] {
      task->found = look_up(task->wanted);
      // It can only fail when it rings already.
      [[maybe_unused]] const int rung = ::eventfd_write(task->bell.get(), 1);
    });
  if (!thread.joinable()) {  // no room for one: then it is waited for
    task->found = look_up(task->wanted);
    return loop.post([task, done = std::move(done)] { done(std::move(task->found)); });
  }
  thread.detach();
  loop.on_readable(bell, [&loop, task, done = std::move(done)] {
    const auto mine = task;  // forgetting destroys this function
    const auto call = done;
    loop.forget(mine->bell.get());
    call(std::move(mine->found));
  });
}

}  // namespace tutti::launch::daemon
