#include "daemon/find_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "base/environment.h"
#include "daemon/aside.h"
#include "daemon/rank_env.h"
#include "status/status.h"

namespace tutti::launch::daemon {
namespace {

// Why a rank cannot work in this folder; empty: it can.
std::string no_folder(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode))
    return "no folder " + path + " to work in";
  return ::access(path.c_str(), X_OK) == 0 ? "" : "no permission to work in folder " + path;
}

App find_app(const control::AppPart& part, const Wanted& wanted, std::vector<std::string>& notes) {
  App app;
  const bool own = !wanted.directory.empty() && !part.directory_required;
  app.directory = own ? wanted.directory : part.working_directory;
  if (const std::string problem = no_folder(app.directory); !problem.empty()) {
    if (part.directory_required) {
      app.problem = {status::of(status::ExitStatus::not_found), problem};
      return app;
    }
    const std::string home = value_in(wanted.environment, "HOME");
    app.directory = no_folder(home).empty() ? home : "/";
    notes.push_back(problem + "; ranks start in " + app.directory);
  }
  RankFacts facts;
  facts.program = &part;
  facts.library_folder = wanted.library_folder;
  const auto environment = rank_environment(wanted.environment, facts);
  app.problem =
      find_program(part.argv.at(0), value_in(environment, "PATH"), app.directory, &app.path);
  if (!app.problem.reason.empty()) return app;
  const std::string path = full_path(app.directory, app.path);
  app.needs = serve::needs_of(path, part.argv, {value_in(environment, "LD_LIBRARY_PATH")});
  std::error_code ignored;
  if (app.needs.mpi != serve::Mpi::unknown)
    app.executable = std::filesystem::canonical(path, ignored).string();
  return app;
}

std::string name_of(serve::Mpi mpi) {
  return mpi == serve::Mpi::tutti ? "Tutti" : mpi == serve::Mpi::mpich ? "MPICH" : "Open MPI";
}

// Ranks of two MPIs never meet: each would wait in MPI_Init for the others.
void refuse_two_mpis(std::vector<App>& apps) {
  const App* first = nullptr;
  std::string problem;
  for (const App& app : apps) {
    if (app.needs.mpi == serve::Mpi::unknown) continue;
    if (first == nullptr) first = &app;
    if (app.needs.mpi != first->needs.mpi)
      problem = first->path + " is linked to " + name_of(first->needs.mpi) + " and " + app.path +
                " to " + name_of(app.needs.mpi) +
                ", which cannot talk to each other; link both to one MPI";
  }
  if (problem.empty()) return;
  for (App& app : apps)
    if (app.problem.reason.empty())
      app.problem = {status::of(status::ExitStatus::not_executable), problem};
}

}  // namespace

Found find_files(const Wanted& wanted) {
  Found found;
  for (const control::AppPart& part : wanted.apps)
    found.apps.push_back(find_app(part, wanted, found.notes));
  refuse_two_mpis(found.apps);
  FileOpener opener(wanted.appends);
  for (const std::string& path : wanted.files) {
    OpenedFile file;
    if (!path.empty()) file = opener.open(path);
    if (!file.problem.empty()) file.problem = "cannot write to " + path + ": " + file.problem;
    found.files.push_back(std::move(file));
  }
  return found;
}

void find_files(control::Loop& loop, Wanted wanted, std::function<void(Found&&)> done) {
  auto found = std::make_shared<Found>();
  aside(
      loop, [found, wanted = std::move(wanted)] { *found = find_files(wanted); },
      [found, done = std::move(done)] { done(std::move(*found)); });
}

}  // namespace tutti::launch::daemon
