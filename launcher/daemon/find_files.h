// What starting ranks asks of file systems: working folders, programs, output files. They may be
// slow or stand still, so a thread asks, and the loop goes on.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "control/control.h"
#include "daemon/launch.h"
#include "daemon/output_file.h"
#include "serve/serve.h"

namespace tutti::launch::daemon {

struct App {
  CannotStart problem;  // empty reason: its program was found
  std::string path, directory;
  std::string executable;  // of an MPI program: as the kernel names it in a process that runs it
  serve::Needs needs;
};

struct Wanted {
  std::vector<control::AppPart> apps;
  std::vector<std::string> environment;  // the daemon's
  std::string directory;                 // where ranks work unless told; empty: as the head says
  std::string library_folder;            // behind those of LD_LIBRARY_PATH; may be empty
  std::vector<std::string> files;        // to be written; empty ones are skipped
  bool appends = false;                  // they stay as they are
};

struct Found {
  std::vector<App> apps;
  std::vector<OpenedFile> files;   // as wanted
  std::vector<std::string> notes;  // for the user
};

Found find_files(const Wanted& wanted);
// The same by a thread; `done` is called by the loop, unless that ends first.
void find_files(control::Loop& loop, Wanted wanted, std::function<void(Found&&)> done);

}  // namespace tutti::launch::daemon
