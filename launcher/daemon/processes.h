// Processes of this machine, as /proc shows them.
#pragma once

#include <sys/types.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tutti::launch::daemon {

struct ProcessStat {
  pid_t pid = 0, parent = 0, group = 0;
  char state = 0;   // R, S, D, T, Z, ...
  int threads = 0;  // the first one included, also where it alone has ended (Z)
};
// Nothing: it is gone.
std::optional<ProcessStat> read_process(pid_t pid);
// One whose first thread alone has ended lives, and is in state Z, too.
bool is_dead(const ProcessStat& process);
// What cannot be read (hidepid, no descriptor left) lives, unless nobody has that number.
bool is_dead(pid_t pid);
std::vector<ProcessStat> all_processes();
std::vector<pid_t> children_now();     // of this process
std::string executable_of(pid_t pid);  // empty: it is gone, or somebody else's
// Whether a thread of it is in the kernel and hears no signal, nor stops for a debugger: state D.
bool is_deaf(pid_t pid);
// Whether `ancestor` is it, or has started it by itself or by others that live.
bool descends(pid_t pid, pid_t ancestor);
// What comes through this socket (AF_UNIX) says which process sent it.
void name_senders(int socket);
// One message, without waiting, as recv(); and its sender, 0: none of our namespace.
ssize_t receive_from(int socket, std::span<char> buffer, pid_t* sender);
// Whether it is the PMIx server (launcher/pmix).
bool is_pmix_server(pid_t pid);

}  // namespace tutti::launch::daemon
