// A note in the library's file, by which its own launcher knows it (launcher/serve/elf_file.cc):
// libmpi_abi is the name that the standard gives every MPI's library.
#include <elf.h>

namespace tutti::mpi {
namespace {

struct ElfNote {
  Elf64_Nhdr head;
  char owner[8];  // filled up to a multiple of four
};

__attribute__((section(".note.tutti"), used, aligned(4)))
const ElfNote kNote{{.n_namesz = sizeof "Tutti", .n_descsz = 0, .n_type = 1}, "Tutti"};

}  // namespace
}  // namespace tutti::mpi
