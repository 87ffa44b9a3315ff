// A launcher that waits needs little: what reading a command line, planning and starting have
// left in memory goes back to the kernel. Free pages of the heap are given up, and the pages of
// the program itself are unmapped; those that are used again come back from the page cache, a
// short fault each.
#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include "control/control.h"

namespace tutti::launch::control {
namespace {

// The program comes first. What is never written to is as it is in the file: nothing is lost, and
// a kernel that refuses changes nothing.
int unmap_pages(dl_phdr_info* program, std::size_t, void*) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  for (int i = 0; i < program->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = program->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_W) != 0) continue;
    const std::uintptr_t begin = (program->dlpi_addr + part.p_vaddr) & ~(page - 1);
    const std::uintptr_t end = program->dlpi_addr + part.p_vaddr + part.p_memsz;
    (void)::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
  return 1;  // no further
}

}  // namespace

void settle() {
  ::malloc_trim(0);
  ::dl_iterate_phdr(unmap_pages, nullptr);
}

}  // namespace tutti::launch::control
