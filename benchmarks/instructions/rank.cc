// Loading a copy of the library.
#include "instructions/rank.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace tutti::ruler {
namespace {

template <class Function>
void find(void* library, const char* name, Function& into) {
  into = reinterpret_cast<Function>(::dlsym(library, name));
  if (into != nullptr) return;
  std::fprintf(stderr, "%s\n", ::dlerror());
  std::exit(1);
}

}  // namespace

Mpi load(const char* file, const Seams& seams) {
  void* const library = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", ::dlerror());
    std::exit(1);
  }
  decltype(&ruler_attach) attach = nullptr;
  find(library, "ruler_attach", attach);
  attach(seams);
  Mpi mpi{};
  find(library, "MPI_Init_thread", mpi.init_thread);
  find(library, "MPI_Finalize", mpi.finalize);
  find(library, "MPI_Send", mpi.send);
  find(library, "MPI_Recv", mpi.recv);
  find(library, "MPI_Sendrecv", mpi.sendrecv);
  find(library, "MPI_Isend", mpi.isend);
  find(library, "MPI_Irecv", mpi.irecv);
  find(library, "MPI_Wait", mpi.wait);
  find(library, "MPI_Waitall", mpi.waitall);
  find(library, "MPI_Send_init", mpi.send_init);
  find(library, "MPI_Recv_init", mpi.recv_init);
  find(library, "MPI_Startall", mpi.startall);
  find(library, "MPI_Start", mpi.start);
  find(library, "MPI_Request_free", mpi.request_free);
  find(library, "MPI_Barrier", mpi.barrier);
  find(library, "MPI_Bcast", mpi.bcast);
  find(library, "MPI_Allreduce", mpi.allreduce);
  find(library, "MPI_Reduce_scatter_block", mpi.reduce_scatter_block);
  find(library, "MPI_Scan", mpi.scan);
  find(library, "MPI_Alltoall", mpi.alltoall);
  find(library, "MPI_Allgatherv", mpi.allgatherv);
  find(library, "MPI_Alltoallv", mpi.alltoallv);
  find(library, "MPI_Ibarrier", mpi.ibarrier);
  find(library, "MPI_Ibcast", mpi.ibcast);
  find(library, "MPI_Iallreduce", mpi.iallreduce);
  find(library, "MPI_Allreduce_init", mpi.allreduce_init);
  return mpi;
}

}  // namespace tutti::ruler
