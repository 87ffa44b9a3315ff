// ELF files as far as the dynamic loader reads them before it maps anything: headers, the dynamic
// section, notes. For tests; nothing in them can run.
#pragma once

#include <elf.h>

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

struct ElfImage {
  std::vector<std::string> needed{};
  std::string rpath{}, runpath{};
  std::string note{};         // its owner; empty: none
  bool wants_loader = false;  // a program that is joined with libraries
  std::uint16_t machine = EM_X86_64;
  std::string padding{};  // bytes that say nothing, whatever they say

  std::string bytes() const;
  void write(const std::string& path) const { std::ofstream(path) << bytes(); }
};

namespace elf_image {

template <class T>
void put(std::string& to, const T& value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

constexpr std::uint64_t kBase = 0x400000;  // addresses differ from offsets, as everywhere

// Header, four segments, then texts, dynamic section and note one after the other.
struct Places {
  std::uint64_t strings, dynamic, note, end;
};

inline Elf64_Phdr segment(std::uint32_t type, std::uint64_t offset, std::uint64_t bytes) {
  Elf64_Phdr one{};
  one.p_type = type;
  one.p_offset = offset;
  one.p_vaddr = kBase + offset;
  one.p_filesz = one.p_memsz = bytes;
  return one;
}

inline Elf64_Ehdr header(std::uint16_t machine) {
  Elf64_Ehdr head{};
  std::memcpy(head.e_ident, ELFMAG, SELFMAG);
  head.e_ident[EI_CLASS] = ELFCLASS64;
  head.e_ident[EI_DATA] = ELFDATA2LSB;
  head.e_type = ET_DYN;
  head.e_machine = machine;
  head.e_phoff = sizeof head;
  head.e_phentsize = sizeof(Elf64_Phdr);
  head.e_phnum = 4;
  return head;
}

}  // namespace elf_image

inline std::string ElfImage::bytes() const {
  using elf_image::put;
  std::string strings(1, '\0'), rows, notes;
  const auto row = [&](std::int64_t tag, const std::string& text) {
    if (text.empty()) return;
    put(rows, Elf64_Dyn{tag, {strings.size()}});
    strings += text + '\0';
  };
  for (const std::string& name : needed) row(DT_NEEDED, name);
  row(DT_RPATH, rpath);
  row(DT_RUNPATH, runpath);
  const std::uint64_t at = sizeof(Elf64_Ehdr) + 4 * sizeof(Elf64_Phdr);
  put(rows, Elf64_Dyn{DT_STRTAB, {elf_image::kBase + at}});
  put(rows, Elf64_Dyn{DT_NULL, {0}});
  if (!note.empty()) {
    put(notes, Elf64_Nhdr{4, 4, 1});  // another's comes first
    notes += std::string("GNU") + '\0' + "1234";
    put(notes, Elf64_Nhdr{static_cast<std::uint32_t>(note.size() + 1), 0, 1});
    notes += note + std::string(4 - note.size() % 4, '\0');
  }
  std::string image;
  put(image, elf_image::header(machine));
  const std::uint64_t dynamic = at + strings.size(), end = dynamic + rows.size();
  put(image, elf_image::segment(PT_LOAD, 0, end + notes.size()));
  put(image, elf_image::segment(wants_loader ? PT_INTERP : PT_NULL, at, 1));
  put(image, elf_image::segment(needed.empty() ? PT_NULL : PT_DYNAMIC, dynamic, rows.size()));
  put(image, elf_image::segment(note.empty() ? PT_NULL : PT_NOTE, end, notes.size()));
  return image + strings + rows + notes + padding;
}
