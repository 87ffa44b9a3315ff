// What a user's files, environment and programs say: files that command lines of every dialect
// name, values of knobs, ELF files with the loader's cache, and files that no kernel executes. No
// crash, no empty error.
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "../unit/serve/elf_image.h"
#include "base/knobs.h"
#include "base/printable.h"
#include "base/unique_fd.h"
#include "catch.h"
#include "cli/cli.h"
#include "daemon/launch.h"
#include "hosts/hosts.h"
#include "mutate.h"
#include "plan/plan.h"
#include "serve/serve.h"

using namespace tutti;               // NOLINT(google-build-using-namespace): a test of
using namespace tutti::launch;       // NOLINT(google-build-using-namespace): these rooms
using namespace tutti::launch::cli;  // NOLINT(google-build-using-namespace)

namespace {

const std::vector<std::string> kLines{"-n 2 ./a 'x y'\n",
                                      "-np 1 -x A=1 ./b : ./c\n",
                                      "0-1 ./a %t\n* ./b %o\n",
                                      "2,4-5 ./a\n",
                                      "rank 0=a slot=0-1\nrank 1=b slot=1:0-1\n",
                                      "rank 2=+n1 slot=p0\n",
                                      "rmaps_base_oversubscribe = 1\n",
                                      "-x A=1 -mca btl self\n",
                                      "a slots=2\nb:1\n",
                                      "# nothing \"at all\n",
                                      "\n"};
const std::string kLetters = " \n\t'\"\\=:,-#%*+019ax";

std::string tool_of(fuzz::Random& random) {
  static const std::vector<std::string> kTools{"prun", "mpirun", "mpiexec", "srun", "torchrun"};
  return kTools[random.below(kTools.size())];
}

// A file that exists while this does.
struct MemoryFile {
  explicit MemoryFile(const std::string& bytes) : fd(::memfd_create("fuzz", MFD_CLOEXEC)) {
    REQUIRE(::write(fd.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd.get()); }
  UniqueFd fd;
};

std::string loader_cache() {
  std::string cache = "glibc-ld.so.cache1.1";
  cache.resize(48);
  cache[20] = 1;  // one entry: its name and path follow
  cache += std::string(4, '\0') + std::string("\x48\0\0\0\x50\0\0\0", 8) + std::string(12, '\0');
  return cache + std::string("libmpi\0\0/lib/libmpi\0", 20);
}

}  // namespace

TEST_CASE("no file that a command line names crashes prun", "[fuzz][named_files]") {
  static const std::vector<std::string> kOptions{"--app",      "--tune",      "--rankfile",  "-am",
                                                 "--hostfile", "-configfile", "--multi-prog"};
  int accepted = 0;
  fuzz::Rounds rounds("named_files", 10000);
  while (rounds.more()) {
    fuzz::Random random(rounds.number() + 3000000);
    std::string text;
    for (std::size_t lines = random.below(4) + 1; lines > 0; --lines)
      text += fuzz::mutate(random, kLines, kLetters);
    const std::string tool = tool_of(random), option = kOptions[random.below(kOptions.size())];
    INFO("round " << rounds.number() << ": " << tool << " " << option << ": " << text);
    CommandLineContext around;
    around.read_file = [&text](const std::string&) -> Result<std::string> { return text; };
    std::vector<std::string> argv{tool, option, "f"};
    if (random.below(2) == 0) argv.insert(argv.begin() + 1, {"-n", "3"});
    if (random.below(3) != 0) argv.emplace_back("./app");
    const auto job = parse_command_line(argv, around);
    if (!job) {
      CHECK_FALSE(job.error().text.empty());
      continue;
    }
    ++accepted;
    const auto many = [](const AppSpec& app) { return app.ranks > 4096; };
    if (!std::holds_alternative<RunJob>(job->command) ||
        std::any_of(job->apps.begin(), job->apps.end(), many))
      continue;
    const auto allocation = hosts::allocate(plan::wishes_of(*job), around.read_file, "here", 4);
    if (!allocation) continue;
    if (const auto plan = plan::map_ranks(*job, *allocation); !plan)
      CHECK_FALSE(plan.error().text.empty());
  }
  CHECK(accepted > rounds.done() / 20);
  CHECK(accepted < rounds.done());
}

TEST_CASE("no value of a knob crashes its reader", "[fuzz][knobs]") {
  static const std::vector<std::string> kValues{"1",
                                                "-1",
                                                "64k",
                                                "yes",
                                                "eth0,10.1.0.0/16,^lo",
                                                "fd00::/8",
                                                "shm,tcp",
                                                "auto",
                                                "on",
                                                "allreduce=ring:64k",
                                                "tcp=15:1.2:4,fold=10",
                                                ""};
  int accepted = 0;
  fuzz::Rounds rounds("knobs", 10000);
  while (rounds.more()) {
    fuzz::Random random(rounds.number() + 4000000);
    const std::string name = Knobs::rows()[random.below(Knobs::rows().size())].name;
    std::string value = fuzz::mutate(random, kValues, kLetters);
    std::erase(value, '\0');
    INFO("round " << rounds.number() << ": " << name << "=" << value);
    const auto knobs =
        Knobs::read([&](const char* asked) { return name == asked ? value.c_str() : nullptr; });
    if (!knobs) CHECK(knobs.error().text.find(name) != std::string::npos);
    accepted += knobs ? 1 : 0;
    CommandLineContext around;  // and what the launcher itself reads of them
    around.variable = [&](const std::string& asked) {
      return asked == name || asked == "TUTTI_COSTS" ? std::optional(value) : std::nullopt;
    };
    if (const auto job = parse_command_line({tool_of(random), "-iface", value, "./a"}, around);
        !job)
      CHECK_FALSE(job.error().text.empty());
  }
  CHECK(accepted > rounds.done() / 20);
  CHECK(accepted < rounds.done());
}

TEST_CASE("no program's file and no loader's cache crash the daemon", "[fuzz][elf]") {
  ElfImage mpich{{"libmpi.so.12", "libc.so.6"}, "$ORIGIN/lib", "/a:/b", "Tutti", true};
  ElfImage plain{{"libmpi.so.40"}, "", "", "", true};
  const std::vector<std::string> images{mpich.bytes(), plain.bytes()}, caches{loader_cache()};
  int programs = 0;
  fuzz::Rounds rounds("elf", 3000);
  while (rounds.more()) {
    fuzz::Random random(rounds.number() + 5000000);
    INFO("round " << rounds.number());
    const MemoryFile image(fuzz::bend(random, images)), cache(fuzz::bend(random, caches));
    const serve::Needs needs = serve::needs_of(image.path(), {"./a"}, {"/nowhere", cache.path()});
    programs += needs.is_binary ? 1 : 0;
  }
  CHECK(programs > rounds.done() / 20);
  CHECK(programs < rounds.done());
}

TEST_CASE("of no file that cannot be executed the words are more than a line", "[fuzz][program]") {
  const ElfImage image{{"libc.so.6"}, "", "", "", true};
  std::string object = image.bytes(), foreign = object;
  object[16] = 1;    // ET_REL
  foreign[18] = 40;  // arm
  const std::vector<std::string> seeds{image.bytes().substr(0, 64),
                                       object.substr(0, 64),
                                       foreign.substr(0, 19),
                                       "#!/no/such/shell -e\necho\n",
                                       "#! /bin/sh\r\n",
                                       "#!" + std::string(300, 'x') + "\n",
                                       "\177ELF",
                                       ""};
  int told = 0;
  fuzz::Rounds rounds("program", 5000);
  while (rounds.more()) {
    fuzz::Random random(rounds.number() + 6000000);
    INFO("round " << rounds.number());
    const MemoryFile file(fuzz::bend(random, seeds));
    for (const int error : {ENOENT, ENOTDIR, ENOEXEC, EACCES}) {
      const std::string why = daemon::why_not_executed(file.path(), error);
      told += why != std::strerror(error) ? 1 : 0;
      const std::string line = text::printable_lines(why);
      REQUIRE_FALSE(line.empty());
      REQUIRE(line.size() < 4096);
      for (std::size_t at = line.find('\n'); at != std::string::npos; at = line.find('\n', at + 1))
        REQUIRE(line.compare(at + 1, 4, "    ") == 0);
    }
  }
  CHECK(told > 0);
}
