// The messages between prun and its daemons: one table.
//
// A message is a struct; `fields` lists what travels, by name, so that a field can be added
// without breaking an older peer. The order of the variant at the end is the number on the
// wire: append only. Text may hold any bytes. "up" is daemon to head, "down" head to daemon.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "control/check_messages.h"
#include "control/machine_messages.h"
#include "control/serve_messages.h"
#include "control/stream_messages.h"
#include "control/watch_messages.h"
#include "spec/spec.h"

namespace tutti::launch::control {

// down, first: what the daemon must know before it looks at its machine.
struct Prepare {
  int host = 0;  // index of this host in the job
  std::string name;
  std::string version;
  bool want_machine = true;
  bool want_devices = false;  // GPUs and network cards, too
  MachinePart machine{};      // of a daemon beside prun, which has read it; else empty
  std::vector<std::string> up_addresses{};  // of the machine that started it; empty: this one
  std::string interfaces{};                 // TUTTI_INTERFACES
  template <class F>
  void fields(F&& f) {
    f("host", host), f("name", name), f("version", version), f("want_machine", want_machine);
    f("want_devices", want_devices), f("machine", machine), f("up_addresses", up_addresses);
    f("interfaces", interfaces);
  }
};

// up, answer to Prepare.
struct Hello {
  std::string version;
  std::string host_name;
  int pid = 0;
  MachinePart machine{};     // when it was asked for; without its XML
  std::string head_address;  // the head, as this host sees it; empty: not known
  std::string own_address;   // this host, as the head reached it; empty: not known
  int free_port = 0;
  std::vector<std::string> addresses{};  // of all its interfaces; of a host over a network
  template <class F>
  void fields(F&& f) {
    f("version", version), f("host_name", host_name), f("pid", pid), f("machine", machine);
    f("head_address", head_address), f("own_address", own_address), f("free_port", free_port);
    f("addresses", addresses);
  }
};

struct Variable {
  std::string name;
  std::string value;
  bool unset = false;
  std::string join{};  // not empty: added to what is there, with this between
  bool in_front = false;
  template <class F>
  void fields(F&& f) {
    f("name", name), f("value", value), f("unset", unset), f("join", join);
    f("in_front", in_front);
  }
};

struct AppPart {
  std::vector<std::string> argv;
  std::string working_directory;
  bool directory_required = false;  // the user named it; otherwise home will do
  int ranks = 0;
  int first_rank = 0;
  std::vector<Variable> environment;
  bool clean_environment = false;  // nothing of the daemon's but PATH and HOME
  int local_rank_at = 0;           // argv index of the word that gets the local rank; 0: none
  bool fills_words = false;        // %r, %l, %h, %n, %j, %o of the words are filled in
  int first_offset = 0;            // %o of the first rank
  template <class F>
  void fields(F&& f) {
    f("argv", argv), f("working_directory", working_directory);
    f("directory_required", directory_required), f("ranks", ranks), f("first_rank", first_rank);
    f("environment", environment), f("clean_environment", clean_environment);
    f("local_rank_at", local_rank_at), f("fills_words", fills_words);
    f("first_offset", first_offset);
  }
};

struct RankPart {
  int rank = 0;
  int app = 0;
  bool takes_stdin = false;
  std::vector<int> cpus;     // empty: not bound
  std::vector<int> nodes{};  // NUMA nodes its memory is bound to; empty: not
  int to_file = 0;           // streams that go into files: 1 stdout, 2 stderr, 3 both
  int to_terminal = 3;       // streams that are shown
  int through_head = 0;      // streams that prun itself puts where they belong
  int in_shared_file = 0;    // streams that only go into a file of several ranks
  bool on_pty = false;       // its streams are a terminal of its own
  std::vector<int> gpus{};   // that it sees, by their number on the host; empty: all
  template <class F>
  void fields(F&& f) {
    f("rank", rank), f("app", app), f("takes_stdin", takes_stdin), f("cpus", cpus);
    f("nodes", nodes), f("to_file", to_file), f("to_terminal", to_terminal);
    f("through_head", through_head), f("in_shared_file", in_shared_file);
    f("on_pty", on_pty), f("gpus", gpus);
  }
};

struct OutputPart {
  int tag = 0;  // spec::OutputTag
  std::string tag_pattern;
  bool timestamps = false;
  bool merge_stderr = false;
  bool color = false;
  bool collected = false;          // the head wants to see all of it, wherever it goes
  std::string out_file, err_file;  // absolute; %r rank, %l local rank, %h host, %n its number, %j
  bool appends = false;            // files of the rounds before stay as they are
  template <class F>
  void fields(F&& f) {
    f("tag", tag), f("tag_pattern", tag_pattern), f("timestamps", timestamps);
    f("merge_stderr", merge_stderr), f("color", color), f("collected", collected);
    f("out_file", out_file), f("err_file", err_file), f("appends", appends);
  }
};

// down: everything this host must start.
struct Launch {
  std::uint64_t job_id = 0;
  std::string job_key;  // 32 bytes
  std::vector<std::string> hosts;
  std::vector<int> host_of;                // of each rank of the job
  std::vector<std::string> environment{};  // "NAME=value" that take the place of the host's own
  std::vector<AppPart> apps;
  std::vector<RankPart> ranks;  // of this host, in rank order
  OutputPart output;
  spec::RankSpec spec;
  int restarts = 0;                          // so far
  Window window{};                           // of terminals that ranks have
  int machine_ranks = 0, machine_cores = 0;  // where several hosts are one machine: of all of them
  template <class F>
  void fields(F&& f) {
    f("spec", spec), f("restarts", restarts);
    f("machine_ranks", machine_ranks), f("machine_cores", machine_cores);
    f("job_id", job_id), f("job_key", job_key), f("hosts", hosts);
    f("host_of", host_of), f("apps", apps), f("ranks", ranks), f("output", output);
    f("environment", environment), f("window", window);
  }
};

// up: every rank of this host runs its program.
struct Started {
  template <class F>
  void fields(F&&) {}
};

// up: of this host's ranks; down: of all the others.
struct Addresses {
  std::uint32_t generation = 0;  // of their MPI programs (wireup::SegmentFacts)
  std::vector<int> ranks;
  std::vector<std::string> addresses;
  template <class F>
  void fields(F&& f) {
    f("generation", generation), f("ranks", ranks), f("addresses", addresses);
  }
};

// up: a rank's process has ended, or never ran its program.
struct RankEnded {
  int rank = 0;
  int wait_status = 0;  // as waitpid gives it
  bool joined = false;
  bool finalized = false;
  bool follows = false;        // if it failed: it had lost another rank
  std::uint32_t programs = 0;  // that it finalized, one after another
  int launch_status = 0;       // not 0: could not be started; then `reason` says why
  std::string reason;
  std::string last_lines;  // what it wrote last, when its end was no good one
  // Where an MPI program was that a signal killed, as its WatchRecord says: in which function
  // (index in the interface table + 1; 0: outside MPI), and which GPUs it had used.
  bool is_placed = false;
  std::uint32_t function = 0;
  std::uint64_t gpus = 0;
  template <class F>
  void fields(F&& f) {
    f("rank", rank), f("wait_status", wait_status), f("joined", joined);
    f("finalized", finalized), f("follows", follows), f("programs", programs);
    f("launch_status", launch_status), f("reason", reason);
    f("last_lines", last_lines);
    f("is_placed", is_placed), f("function", function), f("gpus", gpus);
  }
};

// up: a rank ends the job, by MPI_Abort or by an error.
struct RankAborts {
  int rank = 0;
  int status = 1;
  std::string reason;
  bool follows = false;  // because of another rank's failure, which that one tells
  template <class F>
  void fields(F&& f) {
    f("rank", rank), f("status", status), f("reason", reason), f("follows", follows);
  }
};

// down: the processes of these ranks have ended, each behind so many MPI programs that finalized.
struct Gone {
  std::vector<int> ranks;
  std::vector<std::uint32_t> finalized;
  template <class F>
  void fields(F&& f) {
    f("ranks", ranks), f("finalized", finalized);
  }
};

// down: to every rank of the host.
struct Signal {
  int number = 0;
  template <class F>
  void fields(F&& f) {
    f("number", number);
  }
};

// down: end the ranks, kindly first.
struct End {
  int grace_ms = 0;
  template <class F>
  void fields(F&& f) {
    f("grace_ms", grace_ms);
  }
};

// up: what a rank says about its links, for --report-links.
struct Links {
  int rank = 0;
  std::string text;
  template <class F>
  void fields(F&& f) {
    f("rank", rank), f("text", text);
  }
};

// both: the other side is alive. Silence means that the way between is broken.
struct Heartbeat {
  template <class F>
  void fields(F&&) {}
};

// down: nothing more to do, leave. up: left in order, nothing follows.
struct Bye {
  int status = 0;      // of the job
  bool again = false;  // its ranks start once more: who joined by himself comes again
  template <class F>
  void fields(F&& f) {
    f("status", status), f("again", again);
  }
};

struct HostPart {
  int host = 0;
  std::string name;
  std::string user;
  int port = 0;
  template <class F>
  void fields(F&& f) {
    f("host", host), f("name", name), f("user", user), f("port", port);
  }
};

// down: start daemons on these hosts and pass their messages on (the tree).
struct Grow {
  std::vector<HostPart> hosts;
  std::vector<std::string> agent;
  std::string prefix;
  bool patient = false;  // names that do not resolve yet may come to (Kubernetes)
  template <class F>
  void fields(F&& f) {
    f("hosts", hosts), f("agent", agent), f("prefix", prefix), f("patient", patient);
  }
};

// up: a host could not be started or was lost, said by the daemon that started it.
struct HostFailed {
  int host = 0;
  int status = 0;
  std::string reason;
  template <class F>
  void fields(F&& f) {
    f("host", host), f("status", status), f("reason", reason);
  }
};

// up: a remark for the user.
struct Note {
  std::string text;
  bool is_of_host = false;  // who shows it says of which host it is, or of which ones
  template <class F>
  void fields(F&& f) {
    f("text", text), f("is_of_host", is_of_host);
  }
};

// up: this daemon cannot go on (no memory file, no processes left).
struct DaemonFailed {
  int status = 0;
  std::string reason;  // empty: a Note has said it
  template <class F>
  void fields(F&& f) {
    f("status", status), f("reason", reason);
  }
};

using AnyMessage =
    std::variant<Prepare, Hello, Launch, Started, Output, Input, InputTaken, Addresses, RankEnded,
                 RankAborts, Gone, Signal, End, Links, Heartbeat, Bye, Grow, HostFailed, Note,
                 DaemonFailed, Gather, Gathered, ServeJob, Serves, Served, Fetch, Fetched, Look,
                 Seen, Stack, Examine, Findings, Probe, Probed, Used, OutputTaken, Window>;

// One of them. What copies, moves and ends any of them is compiled once (message.cc), not in every
// file that hears or sends some.
struct Message : AnyMessage {
  template <class One>
  requires(!std::is_base_of_v<Message, std::remove_cvref_t<One>>) Message(One&& one)
      : AnyMessage(std::forward<One>(one)) {}
  Message(const Message& other);
  Message(Message&& other) noexcept;
  Message& operator=(const Message& other);
  Message& operator=(Message&& other) noexcept;
  ~Message();
};

}  // namespace tutti::launch::control
