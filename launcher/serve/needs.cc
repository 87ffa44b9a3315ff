// What will this program look for? Its file names its libraries.
//
// A linked library stands as plain text among the program's dynamic strings, and a library that
// was linked in leaves the variables it reads. So one search through the file answers for both,
// without starting anything. Where that cannot answer (scripts, interpreters) everything is
// served: a server nobody calls costs a socket.
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "serve/serve.h"

namespace tutti::launch::serve {
namespace {

constexpr std::size_t kMostLooked = 64U << 20;
constexpr std::array<std::string_view, 5> kPmi1Signs{"libmpi.so.12", "libmpi_abi.so", "libmpich",
                                                     "libpmi.so", "PMI_FD"};
constexpr std::array<std::string_view, 5> kPmixSigns{"libmpi.so.40", "libpmix.so", "libopen-rte.so",
                                                     "libopen-pal.so", "PMIX_RANK"};
// Programs that run others, or load libraries by name.
constexpr std::array<std::string_view, 27> kCarriers{
    "sh",   "bash",    "dash",    "zsh",    "ksh",     "env",  "python", "perl",     "ruby",
    "lua",  "node",    "julia",   "R",      "Rscript", "java", "tclsh",  "octave",   "numactl",
    "nice", "taskset", "timeout", "strace", "ltrace",  "gdb",  "xterm",  "valgrind", "perf"};

class Mapped {
 public:
  explicit Mapped(const std::string& path) {
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat status {};
    if (!file.is_open() || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
        status.st_size <= 0)
      return;
    bytes_ = std::min(static_cast<std::size_t>(status.st_size), kMostLooked);
    void* const at = ::mmap(nullptr, bytes_, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (at != MAP_FAILED) at_ = static_cast<const char*>(at);
  }
  ~Mapped() {
    if (at_ != nullptr) ::munmap(const_cast<char*>(at_), bytes_);
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  std::string_view text() const { return at_ == nullptr ? "" : std::string_view(at_, bytes_); }

 private:
  const char* at_ = nullptr;
  std::size_t bytes_ = 0;
};

// "python3.11" is python, "gcc-12" would be gcc.
bool carries_others(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const std::string_view stem = name.substr(0, name.find_first_of("0123456789.-"));
  return std::find(kCarriers.begin(), kCarriers.end(), stem) != kCarriers.end();
}

bool is_program(std::string_view text) {
  return text.starts_with("\177ELF");
}

Needs look_into(const std::string& path) {
  const Mapped file(path);
  const std::string_view text = file.text();
  if (text.empty()) return {};
  if (!is_program(text)) return {true, true, false};
  const auto has = [text](std::string_view sign) {
    return ::memmem(text.data(), text.size(), sign.data(), sign.size()) != nullptr;
  };
  return {std::any_of(kPmi1Signs.begin(), kPmi1Signs.end(), has),
          std::any_of(kPmixSigns.begin(), kPmixSigns.end(), has), true};
}

}  // namespace

Needs needs_of(const std::string& path, const std::vector<std::string>& argv) {
  Needs needs = carries_others(path) ? Needs{true, true, false} : look_into(path);
  if (!argv.empty() && carries_others(argv[0])) needs = {true, true, false};
  return needs;
}

}  // namespace tutti::launch::serve
