// Small files and folders: settings, keys, what the kernel tells below /proc and /sys. Without the
// streams and paths of the standard library, whose locales a launcher need not carry.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tutti {

// All of it; empty when it cannot be read (errno says why).
std::optional<std::string> file_text(const std::string& path);
// What lies in a folder, "." and ".." left out; nothing when it cannot be read.
std::vector<std::string> names_in(const std::string& folder);
// The folder that this process works in, by the name that the user knows it by (`known`: $PWD)
// where that is it: behind a link or an automounter the kernel's name means nothing on another
// host. Empty: it is gone, or has no name (errno says why).
std::optional<std::string> working_directory(const std::string& known);
// What is looked through for programs, by the value of PATH: without one, what execvp and shells
// look through (env -i).
std::string search_path(const std::string& path_variable);
// Where a program of this bare name may lie, in their order. An empty folder is the working folder.
std::vector<std::string> places_of_program(const std::string& name,
                                           const std::string& path_variable);
// What only closing a file tells of what was written to it (a quota, on a file server): an errno,
// or 0. `fd` stays open.
int error_of_closing(int fd);
// With all that lies below it; links are removed, not followed.
void remove_folder(const std::string& path);

}  // namespace tutti
