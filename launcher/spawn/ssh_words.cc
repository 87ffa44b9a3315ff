// The remote line and the table of ssh's complaints.
#include "spawn/ssh_words.h"

#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/printable.h"
#include "base/text.h"
#include "spawn/slurm.h"
#include "status/status.h"

namespace tutti::launch::spawn {
namespace {

constexpr std::string_view kLineBegin = "exec /bin/sh -c ";
// Where we stand; the folder in which we began is the daemon's by PWD.
constexpr std::string_view kBecome = "PWD=$H; unset OLDPWD; exec ./prund --serve; ";

// In single quotes, for any Bourne-like or C-like shell.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'')
      out += "'\\''";
    else
      out += c;
  }
  return out + "'";
}

// Shell text that reads `bytes` bytes from stdin into ./name. They come under a name that nobody
// else has (hosts may share this home, and process numbers), and get theirs in one step. Where
// another host was quicker, its file stays: somebody may run it already.
std::string receive(std::string_view need, std::size_t bytes, const std::string& name,
                    const std::string& mode) {
  const std::string size = std::to_string(bytes);
  return "echo " + std::string(need) + "; T=$(mktemp \"./." + name + ".XXXXXX\") && head -c " +
         size + " >\"$T\" && [ $(wc -c <\"$T\") -eq " + size + " ] && chmod " + mode +
         " \"$T\" && { ln \"$T\" \"./" + name + "\" 2>/dev/null || ours " + name +
         " || mv -f \"$T\" \"./" + name + "\"; } || { rm -f \"$T\"; failed; }; rm -f \"$T\"; ";
}

// Shell functions. `own NAME` makes this folder and goes into it: what is judged, and used from
// then on, is where we stand, whatever the name stands for a moment later. Others' folders are
// refused; ours that others can write to may hold what they put there, and is made anew: by the
// one host that could make NAME.old, which looks again first; others wait for it.
std::string functions() {
  return "failed() { echo " + std::string(kFailedLine) +
         "; exit 1; }; "
         "ours() { [ -f \"./$1\" ] && [ -O \"./$1\" ]; }; "
         "closed() { case $(ls -ld .) in d???\?-?\?-?*) return 0;; esac; return 1; }; "
         "into() { cd -P \"./$1\" || return 2; [ -O . ] || { echo " +
         std::string(kForeignLine) +
         " \"$PWD\"; exit 3; }; closed; }; "
         "own() { B=$PWD; for I in 1 2 3 4 5; do "
         "[ -d \"./$1\" ] || mkdir \"./$1\" || [ -d \"./$1\" ] || failed; "
         "into \"$1\" && return; cd \"$B\" || failed; "
         "mkdir \"./$1.old\" || { sleep 1; continue; }; "
         "(into \"$1\"; [ $? -ne 1 ]) || mv \"./$1\" \"./$1.old/\"; rm -rf \"./$1.old\"; done; "
         "echo \"remove $B/$1 and $B/$1.old\" >&2; failed; }; ";
}

// Becomes the prund at this prefix where it may be executed: its file and the folder are ours,
// root's, or of whoever installed it here, too, and not everybody may write to them. What is judged
// is what is executed: only these, and a group that they let write, can put another file into the
// folder in which we stand.
std::string installed(const RemoteFiles& files) {
  return "safe() { F=$1; set -- $(ls -ldn \"$F\") && case $1 in ????????w*) false;; esac && "
         "{ [ -O \"$F\" ] || [ \"$3\" = 0 ] || [ \"$3\" = " +
         std::to_string(files.owner) +
         " ]; }; }; "
         "P=" +
         quoted(files.prefix) +
         "; if [ -x \"$P/bin/prund\" ] && cd -P \"$P/bin\"; then "
         "if safe . && safe ./prund && [ \"$(./prund --hash 2>/dev/null)\" = " +
         files.daemon_name + " ]; then " + std::string(kBecome) + "fi; cd \"$H\" || failed; fi; ";
}

struct Complaint {
  std::string_view words;
  status::ExitStatus status;
  std::string_view cure;  // %: the host
  bool again;
};

// The first row whose words are in ssh's stderr counts.
constexpr std::array kComplaints{
    Complaint{"REMOTE HOST IDENTIFICATION HAS CHANGED", status::ExitStatus::host_key,
              "its ssh key is not the one known here; if it was reinstalled: ssh-keygen -R %",
              false},
    Complaint{"Could not resolve hostname", status::ExitStatus::host_unknown,
              "check the spelling, /etc/hosts and ~/.ssh/config", false},
    Complaint{"Host key verification failed", status::ExitStatus::host_key,
              "its ssh key is not known here; look at it once by hand: ssh %", false},
    Complaint{"Too many authentication failures", status::ExitStatus::login_refused,
              "name one key for it in ~/.ssh/config (IdentityFile, IdentitiesOnly yes)", false},
    Complaint{"Permission denied", status::ExitStatus::login_refused,
              "check that 'ssh % true' works without a password", false},
    Complaint{"Connection refused", status::ExitStatus::host_unreachable,
              "no ssh server answers there; is the host up, and the port right?", false},
    Complaint{"timed out", status::ExitStatus::host_unreachable,
              "is the host up, and does a firewall let ssh through?", false},
    Complaint{"No route to host", status::ExitStatus::host_unreachable, "is the host up?", false},
    Complaint{"Network is unreachable", status::ExitStatus::host_unreachable,
              "this machine has no way to it", false},
    Complaint{"kex_exchange_identification", status::ExitStatus::host_unreachable,
              "its ssh server closed the connection (MaxStartups in sshd_config?)", true},
    Complaint{"Connection reset", status::ExitStatus::host_unreachable,
              "its ssh server closed the connection", true},
    Complaint{"Connection closed", status::ExitStatus::host_unreachable,
              "its ssh server closed the connection", true},
    Complaint{"account is currently not available", status::ExitStatus::login_refused,
              "this user may not log in there", false},
    Complaint{"Bad configuration option", status::ExitStatus::usage, "look at ~/.ssh/config",
              false},
};

constexpr std::size_t kMostQuoted = 300;  // of what another host said

// What follows a word of ours on the line that it begins.
std::optional<std::string> rest_after(std::string_view word, const std::string& noise) {
  for (const std::string& one : text::split(noise, '\n'))
    if (const std::string_view line = text::trim(one); line.starts_with(word))
      return text::printable(text::trim(line.substr(word.size(), kMostQuoted)));
  return std::nullopt;
}

// Whether this is the line that was to be run, quoted in whatever way.
bool shows_the_line(std::string noise) {
  std::erase_if(noise, [](char c) { return c == '\\' || c == '\'' || c == '"'; });
  return noise.find(kLineBegin) != std::string::npos;
}

std::string for_host(std::string_view text, const std::string& host) {
  std::string out;
  for (const char c : text) {
    if (c == '%')
      out += host;
    else
      out += c;
  }
  return out;
}

}  // namespace

std::string remote_line(const RemoteFiles& files) {
  std::string script = functions() + "H=$PWD; umask 077; [ \"$(uname -m)\" = " + files.machine +
                       " ] || { echo " + std::string(kMachineLine) +
                       " \"$(uname -m)\"; exit 1; }; " + installed(files) +
                       "C=\"${XDG_CACHE_HOME:-$HOME/.cache}\"; mkdir -p \"$C\" && cd \"$C\" || "
                       "failed; own tutti; own " +
                       files.cache_name + "; ours prund || { " +
                       receive(kNeedDaemonLine, files.daemon_bytes, "prund", "700") + "}; ";
  if (files.library_bytes > 0)
    script += "ours libmpi_abi.so.1 || { " +
              receive(kNeedLibraryLine, files.library_bytes, "libmpi_abi.so.1", "600") + "}; ";
  script += kBecome;
  return std::string(kLineBegin) + quoted(script);
}

std::string telling_line(const std::string& words) {
  std::string best;
  for (const std::string& one : text::split(words, '\n')) {
    const std::string_view line = text::trim(one);
    if (line.empty() || line.starts_with("Warning: Permanently added") || line.starts_with("@@@"))
      continue;
    best = line;
  }
  if (best.size() > kMostQuoted) best.replace(kMostQuoted, std::string::npos, "...");
  return best;
}

Diagnosis diagnose(const std::string& host, const std::string& agent, int wait_status,
                   const std::string& words, const std::string& noise) {
  const std::string line = telling_line(words);
  const std::string how = WIFEXITED(wait_status)
                              ? " exited " + std::to_string(WEXITSTATUS(wait_status))
                              : " was killed by signal " + std::to_string(WTERMSIG(wait_status));
  if (const auto machine = rest_after(kMachineLine, noise))
    return {status::of(status::ExitStatus::version_mismatch),
            "it is another kind of machine (" + *machine + "); install this version of Tutti there",
            false};
  if (rest_after(kFailedLine, noise))
    return {status::of(status::ExitStatus::no_resources),
            "cannot keep the daemon in ~/.cache/tutti there" +
                (line.empty() ? "" : " (" + line + ")") +
                "; is there room, and may you write to it?",
            false};
  if (const auto folder = rest_after(kForeignLine, noise))
    return {status::of(status::ExitStatus::no_resources),
            "the daemon cannot be kept in " + *folder +
                " there: that folder is another user's; remove it, or set XDG_CACHE_HOME there",
            false};
  for (const Complaint& row : kComplaints) {
    if (words.find(row.words) == std::string::npos) continue;
    return {status::of(row.status), agent + how + " (" + line + "); " + for_host(row.cure, host),
            row.again};
  }
  if (shows_the_line(noise))
    return {status::of(status::ExitStatus::host_unreachable),
            agent + " printed the command instead of running it (it" + how +
                " before a daemon answered" + (line.empty() ? "" : ": " + line) +
                "); a launch agent runs a command on a host, as ssh does",
            false};
  std::string reason = agent + how + " before a daemon answered";
  if (!line.empty()) reason += " (" + line + ")";
  if (const std::string_view said = text::trim(noise); !said.empty())
    reason +=
        "; its login shell said: " + std::string(said.substr(0, said.find('\n')).substr(0, 120));
  return {status::of(status::ExitStatus::host_unreachable),
          reason + "; check that '" + trial_line(agent, host) + "' works", false};
}

}  // namespace tutti::launch::spawn
