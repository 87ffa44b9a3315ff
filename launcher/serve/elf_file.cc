// Reads headers, the dynamic section and notes, each piece by its place in the file: a few
// kilobytes of a file of any size. Nothing that the file says is believed beyond these bounds.
#include "serve/elf_file.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "base/unique_fd.h"

namespace tutti::launch::serve {
namespace {

constexpr std::size_t kMostEntries = 4096;      // of a table
constexpr std::size_t kLongestText = 4U << 10;  // of a name or a list of folders
constexpr std::size_t kLongestNotes = 64U << 10;
constexpr std::string_view kOurName{"Tutti", 6};  // with the zero that notes end names with
constexpr unsigned char kThisOrder =
    std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;

class ElfReader {
 public:
  explicit ElfReader(const std::string& path)
      : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    struct stat status {};
    if (file_.is_open() && (::fstat(file_.get(), &status) != 0 || !S_ISREG(status.st_mode)))
      file_.reset();
  }

  // As many bytes as there are, at most so many.
  std::string bytes(std::uint64_t offset, std::size_t most) const {
    std::string text(most, '\0');
    const ssize_t got =
        file_.is_open() ? ::pread(file_.get(), text.data(), most, static_cast<off_t>(offset)) : -1;
    text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
    return text;
  }

  template <class T>
  std::vector<T> table(std::uint64_t offset, std::size_t count) const {
    static_assert(std::is_trivially_copyable_v<T>);
    const std::string text = bytes(offset, std::min(count, kMostEntries) * sizeof(T));
    std::vector<T> rows(text.size() / sizeof(T));
    if (!rows.empty()) std::memcpy(rows.data(), text.data(), rows.size() * sizeof(T));
    return rows;
  }

  std::string text(std::uint64_t offset) const {
    const std::string all = bytes(offset, kLongestText);
    return all.substr(0, all.find('\0'));
  }

 private:
  UniqueFd file_;
};

using Segments = std::vector<Elf64_Phdr>;

// Where in the file this address of memory comes from.
std::optional<std::uint64_t> offset_of(const Segments& segments, std::uint64_t address) {
  for (const Elf64_Phdr& one : segments)
    if (one.p_type == PT_LOAD && address >= one.p_vaddr && address - one.p_vaddr < one.p_filesz)
      return one.p_offset + (address - one.p_vaddr);
  return std::nullopt;
}

void read_dynamic(const ElfReader& file, const Segments& segments, const Elf64_Phdr& place,
                  ElfFile& elf) {
  const auto rows = file.table<Elf64_Dyn>(place.p_offset, place.p_filesz / sizeof(Elf64_Dyn));
  std::optional<std::uint64_t> strings;
  for (const Elf64_Dyn& row : rows)
    if (row.d_tag == DT_STRTAB) strings = offset_of(segments, row.d_un.d_ptr);
  if (!strings) return;
  for (const Elf64_Dyn& row : rows) {
    if (row.d_tag == DT_NULL) return;
    if (row.d_tag == DT_NEEDED) elf.needed.push_back(file.text(*strings + row.d_un.d_val));
    if (row.d_tag == DT_RPATH) elf.rpath = file.text(*strings + row.d_un.d_val);
    if (row.d_tag == DT_RUNPATH) elf.runpath = file.text(*strings + row.d_un.d_val);
  }
}

// A note is its sizes, its owner's name and its content, each filled up to a multiple of four.
bool has_our_note(std::string_view notes) {
  const auto padded = [](std::size_t bytes) { return (bytes + 3) / 4 * 4; };
  while (notes.size() >= sizeof(Elf64_Nhdr)) {
    Elf64_Nhdr head{};
    std::memcpy(&head, notes.data(), sizeof head);
    notes.remove_prefix(sizeof head);
    if (notes.substr(0, head.n_namesz) == kOurName) return true;
    notes.remove_prefix(std::min(notes.size(), padded(head.n_namesz) + padded(head.n_descsz)));
  }
  return false;
}

}  // namespace

FileKind kind_of(const std::string& path) {
  const std::string beginning = ElfReader(path).bytes(0, SELFMAG);
  if (beginning.empty()) return FileKind::unreadable;
  return beginning == ELFMAG ? FileKind::elf : FileKind::other;
}

std::optional<ElfFile> read_elf(const std::string& path) {
  const ElfReader file(path);
  const auto headers = file.table<Elf64_Ehdr>(0, 1);
  if (headers.empty()) return std::nullopt;
  const Elf64_Ehdr& header = headers[0];
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != kThisOrder || header.e_phentsize != sizeof(Elf64_Phdr))
    return std::nullopt;
  const Segments segments = file.table<Elf64_Phdr>(header.e_phoff, header.e_phnum);
  if (segments.size() < header.e_phnum) return std::nullopt;
  ElfFile elf;
  elf.machine = header.e_machine;
  for (const Elf64_Phdr& one : segments) {
    if (one.p_type == PT_INTERP) elf.wants_loader = true;
    if (one.p_type == PT_DYNAMIC) read_dynamic(file, segments, one, elf);
    if (one.p_type == PT_NOTE)
      elf.is_ours = elf.is_ours ||
                    has_our_note(file.bytes(one.p_offset, std::min(one.p_filesz, kLongestNotes)));
  }
  return elf;
}

}  // namespace tutti::launch::serve
