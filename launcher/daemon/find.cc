// The program of a rank: looked for as a shell would, and told apart from what cannot run.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.h"
#include "daemon/launch.h"
#include "job/exit_status.h"

namespace tutti::launch::daemon {
namespace {

enum class Kind { program, not_executable, directory, absent };

Kind look_at(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0)
    return errno == EACCES ? Kind::not_executable : Kind::absent;
  if (S_ISDIR(status.st_mode)) return Kind::directory;
  return ::access(path.c_str(), X_OK) == 0 ? Kind::program : Kind::not_executable;
}

std::string from(const std::string& directory, const std::string& name) {
  return name.starts_with('/') ? name : directory + "/" + name;
}

}  // namespace

CannotStart find_program(const std::string& name, const std::string& search_path,
                         const std::string& directory, std::string* path) {
  const int not_executable = job::status_of(job::ExitStatus::not_executable);
  const int not_found = job::status_of(job::ExitStatus::not_found);
  if (name.find('/') != std::string::npos) {
    *path = name;
    const std::string full = from(directory, name);
    switch (look_at(full)) {
      case Kind::program:
        return {};
      case Kind::directory:
        return {not_executable, full + " is a folder, not a program"};
      case Kind::not_executable:
        return {not_executable, full + " is not executable; try chmod +x " + full};
      case Kind::absent:
        break;
    }
    return {not_found, "no program " + full + "; check its path, and that this host has it"};
  }
  std::string seen_unusable;
  for (const std::string& folder : text::split(search_path, ':')) {
    *path = (folder.empty() ? directory : from(directory, folder)) + "/" + name;
    const Kind kind = look_at(*path);
    if (kind == Kind::program) return {};
    if (kind == Kind::not_executable && seen_unusable.empty()) seen_unusable = *path;
  }
  if (!seen_unusable.empty())
    return {not_executable, seen_unusable + " is not executable; try chmod +x " + seen_unusable};
  if (look_at(directory + "/" + name) == Kind::program)
    return {not_found,
            "no program " + name + " in PATH; it is in the working folder: say ./" + name};
  return {not_found, "no program " + name + " in PATH (" + search_path + ")"};
}

}  // namespace tutti::launch::daemon
