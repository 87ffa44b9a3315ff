// Which server a program will look for: the names of its libraries say whose MPI it is.
//
// The program's file names libraries, these name others: all that the loader would join are looked
// at, without starting anything. The name of an MPI library says which server it looks for, except
// libmpi_abi, which several MPIs provide: ours carries a note, and needs no server. Where names
// cannot answer (scripts, interpreters, static programs) every server is started: one that nobody
// calls costs a socket.
#include <algorithm>
#include <array>
#include <deque>
#include <set>
#include <string_view>

#include "serve/elf_file.h"
#include "serve/libraries.h"
#include "serve/serve.h"

namespace tutti::launch::serve {
namespace {

struct KnownLibrary {
  std::string_view begins;
  bool Needs::*server;  // that it looks for
  Mpi mpi = Mpi::unknown;
};
constexpr std::array<KnownLibrary, 7> kLibraries{{{"libmpi.so.12", &Needs::pmi1, Mpi::mpich},
                                                  {"libmpich", &Needs::pmi1, Mpi::mpich},
                                                  {"libpmi.so", &Needs::pmi1},
                                                  {"libmpi.so.40", &Needs::pmix, Mpi::open_mpi},
                                                  {"libpmix.so", &Needs::pmix},
                                                  {"libopen-rte.so", &Needs::pmix},
                                                  {"libopen-pal.so", &Needs::pmix}}};
constexpr std::string_view kAnybodys = "libmpi_abi.so";
constexpr std::size_t kMostLibraries = 4096;
// Programs that run others, or load libraries by name.
constexpr std::array<std::string_view, 27> kCarriers{
    "sh",   "bash",    "dash",    "zsh",    "ksh",     "env",  "python", "perl",     "ruby",
    "lua",  "node",    "julia",   "R",      "Rscript", "java", "tclsh",  "octave",   "numactl",
    "nice", "taskset", "timeout", "strace", "ltrace",  "gdb",  "xterm",  "valgrind", "perf"};

// "python3.11" is python, "gcc-12" would be gcc.
bool carries_others(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const std::string_view stem = name.substr(0, name.find_first_of("0123456789.-"));
  return std::find(kCarriers.begin(), kCarriers.end(), stem) != kCarriers.end();
}

Needs everything(bool is_binary) {
  return {.pmi1 = true, .pmix = true, .certain = false, .is_binary = is_binary};
}

// From the libraries of a program, breadth first, as the loader goes.
class LibraryWalk {
 public:
  explicit LibraryWalk(const LibraryPlaces& places) : libraries_(places) {}

  Needs run(Loaded program) {
    loaded_.push_back(std::move(program));
    for (std::size_t i = 0; i < loaded_.size(); ++i)
      for (const std::string& name : loaded_[i].elf.needed)
        if (seen_.size() < kMostLibraries && seen_.insert(name).second) meet(name, loaded_[i]);
    if (has_foreign_abi_ && !needs_.pmix) needs_.pmi1 = true;
    // MPICH is often linked in whole, which leaves no name; PMI-1 for who does not ask is a socket.
    if (!names_an_mpi_) needs_.pmi1 = true;
    needs_.certain = names_an_mpi_;
    if (mpis_.size() == 1) needs_.mpi = *mpis_.begin();
    return needs_;
  }

 private:
  void meet(const std::string& name, const Loaded& by) {
    const auto known =
        std::find_if(kLibraries.begin(), kLibraries.end(),
                     [&name](const KnownLibrary& one) { return name.starts_with(one.begins); });
    const bool is_anybodys = name.starts_with(kAnybodys);
    const bool is_known = known != kLibraries.end();
    names_an_mpi_ = names_an_mpi_ || is_known || is_anybodys;
    if (is_known) {  // what else such a library could look for is its own matter
      needs_.*known->server = true;
      if (known->mpi != Mpi::unknown) mpis_.insert(known->mpi);
      return;
    }
    auto found = libraries_.find(name, by);
    if (found && found->elf.is_ours) mpis_.insert(Mpi::tutti);
    if (!found || found->elf.is_ours) return;
    has_foreign_abi_ = has_foreign_abi_ || is_anybodys;
    loaded_.push_back(std::move(*found));
  }

  const Libraries libraries_;
  std::deque<Loaded> loaded_;  // addresses stay: each names who wanted it
  std::set<std::string> seen_;
  std::set<Mpi> mpis_;
  Needs needs_{.is_binary = true};
  bool has_foreign_abi_ = false, names_an_mpi_ = false;
};

}  // namespace

Needs needs_of(const std::string& path, const std::vector<std::string>& argv,
               const LibraryPlaces& places) {
  const FileKind kind = kind_of(path);
  const bool is_binary = kind == FileKind::elf;
  if (carries_others(path) || (!argv.empty() && carries_others(argv[0])))
    return everything(is_binary);
  if (kind == FileKind::unreadable) return {};
  auto elf = is_binary ? read_elf(path) : std::nullopt;
  if (elf && elf->is_ours) return {.certain = true, .is_binary = true, .mpi = Mpi::tutti};
  if (!elf || !elf->wants_loader) return everything(is_binary);
  return LibraryWalk(places).run({path, std::move(*elf)});
}

}  // namespace tutti::launch::serve
