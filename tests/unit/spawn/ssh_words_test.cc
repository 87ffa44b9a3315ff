// What is said to a host's shell, and what ssh's words mean.
#include "spawn/ssh_words.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <vector>

#include "catch.h"
#include "status/status.h"

namespace tutti::launch::spawn {
namespace {

constexpr int kExited255 = 255 << 8;

int status_for(const std::string& words) {
  return diagnose("b", "ssh", kExited255, words, "").status;
}

// A private home, and what the remote line prints when a shell runs it there.
struct Home {
  Home() {
    char name[] = "/tmp/tutti-words-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    path = name;
  }
  ~Home() { CHECK(std::system(("rm -rf " + path).c_str()) == 0); }
  std::string run(const RemoteFiles& files, const std::string& input) const {
    std::ofstream(path + "/line") << "HOME=" << path << "; unset XDG_CACHE_HOME; "
                                  << remote_line(files) << "\n";
    std::ofstream(path + "/input") << input;
    std::FILE* pipe = ::popen(("sh " + path + "/line < " + path + "/input 2>&1").c_str(), "r");
    REQUIRE(pipe != nullptr);
    std::string out;
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) out += static_cast<char>(c);
    ::pclose(pipe);
    return out;
  }
  std::string path;
};

RemoteFiles some_files(const std::string& daemon) {
  RemoteFiles files;
  files.prefix = "/nowhere/it's here";
  files.daemon_name = "d1";
  files.cache_name = "c1";
  files.daemon_bytes = daemon.size();
  files.machine = "$(uname -m)";
  return files;
}

const std::string kScript = "#!/bin/sh\necho I am the daemon $1\n";

TEST_CASE("a host without the daemon asks for it, keeps it and becomes it", "[spawn]") {
  const Home home;
  const RemoteFiles files = some_files(kScript);
  CHECK(home.run(files, kScript) == std::string(kNeedDaemonLine) + "\nI am the daemon --serve\n");
  CHECK(home.run(files, "") == "I am the daemon --serve\n");  // the second time it is there
}

TEST_CASE("the library is asked for after the daemon", "[spawn]") {
  const Home home;
  RemoteFiles files = some_files(kScript);
  files.library_bytes = 4;
  const std::string out = home.run(files, kScript + "LIBS");
  CHECK(out == std::string(kNeedDaemonLine) + "\n" + std::string(kNeedLibraryLine) +
                   "\nI am the daemon --serve\n");
  std::ifstream library(home.path + "/.cache/tutti/c1/libmpi_abi.so.1");
  CHECK(std::string(std::istreambuf_iterator<char>(library), {}) == "LIBS");
}

TEST_CASE("a daemon that arrives cut short is not kept", "[spawn]") {
  const Home home;
  const RemoteFiles files = some_files(kScript);
  const std::string out = home.run(files, kScript.substr(0, 10));
  CHECK(out.find(kFailedLine) != std::string::npos);
  CHECK(::access((home.path + "/.cache/tutti/c1/prund").c_str(), F_OK) != 0);
  CHECK(std::system(("test -z \"$(ls -A " + home.path + "/.cache/tutti/c1)\"").c_str()) == 0);
}

// A daemon that somebody put there, which tells that it ran.
void plant(const std::string& folder, const std::string& after) {
  REQUIRE(std::system(("mkdir -p " + folder + " && printf '#!/bin/sh\necho planted\n' >" + folder +
                       "/prund && chmod 755 " + folder + "/prund && " + after)
                          .c_str()) == 0);
}

TEST_CASE("a cache that others can write to is made anew", "[spawn]") {
  for (const char* open : {"tutti", "tutti/c1"}) {
    const Home home;
    const std::string cache = home.path + "/.cache/";
    plant(cache + "tutti/c1",
          "chmod 700 " + cache + "tutti " + cache + "tutti/c1 && chmod 775 " + cache + open);
    const std::string expected = std::string(kNeedDaemonLine) + "\nI am the daemon --serve\n";
    CHECK(home.run(some_files(kScript), kScript) == expected);
    CHECK(std::system(("test \"$(stat -c %a " + cache + "tutti " + cache +
                       "tutti/c1 | xargs)\" = '700 700'")
                          .c_str()) == 0);
    CHECK(std::system(("test \"$(ls -A " + cache + ")\" = tutti").c_str()) == 0);
  }
}

TEST_CASE("a cache of ours that is closed to others is used as it is", "[spawn]") {
  const Home home;
  plant(home.path + "/.cache/tutti/c1",
        "chmod 755 " + home.path + "/.cache/tutti " + home.path + "/.cache/tutti/c1");
  CHECK(home.run(some_files(kScript), "") == "planted\n");
}

TEST_CASE("a daemon in our cache that another user owns is fetched anew", "[spawn]") {
  if (::geteuid() != 0) return;  // only root can make it so
  const Home home;
  const std::string cache = home.path + "/.cache/tutti";
  plant(cache + "/c1",
        "chmod 700 " + cache + " " + cache + "/c1 && chown nobody " + cache + "/c1/prund");
  const std::string expected = std::string(kNeedDaemonLine) + "\nI am the daemon --serve\n";
  CHECK(home.run(some_files(kScript), kScript) == expected);
}

TEST_CASE("another user's cache is refused and named", "[spawn]") {
  if (::geteuid() != 0) return;  // only root can make it so
  for (const char* theirs : {"tutti", "tutti/c1"}) {
    const Home home;
    const std::string cache = home.path + "/.cache/";
    plant(cache + "tutti/c1", "chown nobody " + cache + theirs);
    const std::string out = home.run(some_files(kScript), kScript);
    CHECK(out == std::string(kForeignLine) + " " + cache + theirs + "\n");
    const Diagnosis why = diagnose("b", "ssh", 1 << 8, "", out);
    CHECK(why.reason.find(cache + theirs + " there: that folder is another user's") !=
          std::string::npos);
  }
}

// What `many` hosts print that share this home and start at the same moment: a folder each for
// their input, and, where this machine allows it, each a first process (the same $$ everywhere).
std::vector<std::string> at_once(const Home& home, int many, const RemoteFiles& files,
                                 const std::string& input) {
  std::ofstream(home.path + "/line")
      << "HOME=" << home.path << "; unset XDG_CACHE_HOME; " << remote_line(files) << "\n";
  std::ofstream(home.path + "/input") << input;
  static const bool alone = std::system("unshare -rpf true 2>/dev/null") == 0;
  const std::string shell = alone ? "unshare -rpf sh " : "sh ";
  std::string all = "cd " + home.path + "; ";
  for (int host = 0; host < many; ++host)
    all += "(until [ -e go ]; do :; done; " + shell + "line <input >out" + std::to_string(host) +
           " 2>&1) & ";
  REQUIRE(std::system((all + "sleep 0.1; : >go; wait; rm go").c_str()) == 0);
  std::vector<std::string> said;
  for (int host = 0; host < many; ++host) {
    std::ifstream out(home.path + "/out" + std::to_string(host));
    said.emplace_back(std::istreambuf_iterator<char>(out), std::istreambuf_iterator<char>());
  }
  return said;
}

TEST_CASE("hosts that share a home make the cache at the same time", "[spawn]") {
  const std::string script = kScript + std::string(300000, '#') + "\n";
  RemoteFiles files = some_files(script);
  files.library_bytes = 100000;
  const std::string library(files.library_bytes, 'l');
  for (int round = 0; round < 6; ++round) {
    const Home home;
    const std::string cache = home.path + "/.cache";
    const char* const open[] = {"tutti", "tutti/c1"};
    if (round % 3 > 0)
      plant(cache + "/tutti/c1", "chmod 700 " + cache + "/tutti " + cache +
                                     "/tutti/c1 && chmod 777 " + cache + "/" + open[round % 3 - 1]);
    for (const std::string& said : at_once(home, 8, files, script + library)) {
      INFO("round " << round << ": " << said);
      CHECK(said.ends_with("I am the daemon --serve\n"));
    }
    CHECK(std::system(("cd " + cache +
                       " && test \"$(find . -mindepth 1 | sort | xargs)\" = "
                       "'./tutti ./tutti/c1 ./tutti/c1/libmpi_abi.so.1 ./tutti/c1/prund'")
                          .c_str()) == 0);
  }
}

TEST_CASE("a folder that a killed host left in the way is named", "[spawn]") {
  const Home home;
  const std::string cache = home.path + "/.cache";
  plant(cache + "/tutti/c1", "chmod 777 " + cache + "/tutti && mkdir " + cache + "/tutti.old");
  const std::string out = home.run(some_files(kScript), kScript);
  CHECK(out.ends_with("remove " + cache + "/tutti and " + cache + "/tutti.old\n" +
                      std::string(kFailedLine) + "\n"));
}

TEST_CASE("an installed daemon is executed when it can be trusted", "[spawn]") {
  const Home home;
  const std::string folder = home.path + "/prefix/bin";
  RemoteFiles files = some_files(kScript);
  files.prefix = home.path + "/prefix";
  const std::string text = "#!/bin/sh\n[ $1 = --hash ] && echo d1 || echo installed\n";
  const auto install = [&](const std::string& change) {
    REQUIRE(std::system(("mkdir -p " + folder).c_str()) == 0);
    std::ofstream(folder + "/prund") << text;
    REQUIRE(std::system(
                ("chmod 755 " + folder + "/prund && cd " + folder + " && " + change).c_str()) == 0);
    return home.run(files, kScript).find("installed") != std::string::npos;
  };
  CHECK(install("true"));
  CHECK_FALSE(install("chmod 757 prund"));
  CHECK_FALSE(install("chmod 757 ."));  // another may come in its place
  CHECK(install("chmod 755 ."));
  if (::geteuid() != 0) return;
  CHECK_FALSE(install("chown nobody prund"));
  CHECK_FALSE(install("chown 0 prund && chown nobody ."));
  files.owner = 65534;  // who installed it here, too
  CHECK(install("chown 65534 prund"));
}

TEST_CASE("another kind of machine says so before anything is sent", "[spawn]") {
  const Home home;
  RemoteFiles files = some_files(kScript);
  files.machine = "pdp11";
  const std::string out = home.run(files, kScript);
  CHECK(out.starts_with(kMachineLine));
  const Diagnosis why = diagnose("b", "ssh", 1 << 8, "", out);
  CHECK(why.status == status::of(status::ExitStatus::version_mismatch));
}

TEST_CASE("ssh's complaints get their documented statuses", "[spawn]") {
  CHECK(status_for("ssh: Could not resolve hostname b: Name or service not known\r\n") ==
        status::of(status::ExitStatus::host_unknown));
  CHECK(status_for("ssh: connect to host b port 22: Connection refused\r\n") ==
        status::of(status::ExitStatus::host_unreachable));
  CHECK(status_for("root@b: Permission denied (publickey).\r\n") ==
        status::of(status::ExitStatus::login_refused));
  CHECK(status_for("@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification "
                   "failed.\n") == status::of(status::ExitStatus::host_key));
  CHECK(status_for("Host key verification failed.\n") == status::of(status::ExitStatus::host_key));
  CHECK(status_for("something new\n") == status::of(status::ExitStatus::host_unreachable));
}

TEST_CASE("a reason quotes ssh, names the host and says what to try", "[spawn]") {
  const Diagnosis why = diagnose(
      "b", "ssh", kExited255,
      "Warning: Permanently added 'b' to the list\r\nme@b: Permission denied (publickey).\r\n", "");
  CHECK(why.reason.find("me@b: Permission denied (publickey).") != std::string::npos);
  CHECK(why.reason.find("ssh b true") != std::string::npos);
  CHECK(why.reason.find('\n') == std::string::npos);
}

TEST_CASE("a reason is one line, however much ssh and the host's shell say", "[spawn]") {
  const std::string machine = std::string(kMachineLine) + " pdp11\nBye.\n\n";
  CHECK(diagnose("b", "ssh", 1 << 8, "", machine)
            .reason.starts_with("it is another kind of machine (pdp11);"));
  const std::string much(60000, 'x');
  CHECK(diagnose("b", "ssh", kExited255, much + "\n", "").reason.size() < 500);
}

TEST_CASE("a login shell that never lets the daemon through is quoted", "[spawn]") {
  const Diagnosis why = diagnose("b", "ssh", 0, "", "This account is closed.\nBye.\n");
  CHECK(why.reason.find("This account is closed.") != std::string::npos);
}

TEST_CASE("an agent that only shows what it was to run is said to", "[spawn]") {
  const std::string line = "hello b " + remote_line(some_files(kScript)) + "\n";
  std::string quoted;  // as by printf %q
  for (const char c : line) quoted += std::string(c == ' ' || c == '\'' ? "\\" : "") + c;
  for (const std::string& said : {line, "Welcome\n" + line, quoted}) {
    const Diagnosis why = diagnose("b", "echo", 0, "", said);
    CHECK(why.status == status::of(status::ExitStatus::host_unreachable));
    CHECK(why.reason.starts_with("echo printed the command instead of running it"));
    CHECK(why.reason.find("umask") == std::string::npos);
  }
  // A shell that shows each line before it runs it has run it.
  CHECK(diagnose("b", "ssh", 1 << 8, "", line + std::string(kMachineLine) + " pdp11\n")
            .reason.starts_with("it is another kind of machine (pdp11);"));
}

TEST_CASE("a server that closes early is tried again, a refused key is not", "[spawn]") {
  CHECK(diagnose("b", "ssh", kExited255,
                 "kex_exchange_identification: Connection closed by remote host\n", "")
            .again);
  CHECK_FALSE(diagnose("b", "ssh", kExited255, "Permission denied (publickey).\n", "").again);
}

}  // namespace
}  // namespace tutti::launch::spawn
