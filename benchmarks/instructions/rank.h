// A rank: a copy of the library, loaded from a file of its own, so that it has its own globals and
// one process can be two ranks. The functions are called by pointer, else as a program does.
#pragma once

#include <mpi.h>

#include "instructions/seams.h"

namespace tutti::ruler {

struct Mpi {
  decltype(&MPI_Init_thread) init_thread;
  decltype(&MPI_Finalize) finalize;
  decltype(&MPI_Send) send;
  decltype(&MPI_Recv) recv;
  decltype(&MPI_Sendrecv) sendrecv;
  decltype(&MPI_Isend) isend;
  decltype(&MPI_Irecv) irecv;
  decltype(&MPI_Wait) wait;
  decltype(&MPI_Waitall) waitall;
  decltype(&MPI_Send_init) send_init;
  decltype(&MPI_Recv_init) recv_init;
  decltype(&MPI_Startall) startall;
  decltype(&MPI_Start) start;
  decltype(&MPI_Request_free) request_free;
  decltype(&MPI_Barrier) barrier;
  decltype(&MPI_Bcast) bcast;
  decltype(&MPI_Allreduce) allreduce;
  decltype(&MPI_Reduce_scatter_block) reduce_scatter_block;
  decltype(&MPI_Scan) scan;
  decltype(&MPI_Alltoall) alltoall;
  decltype(&MPI_Allgatherv) allgatherv;
  decltype(&MPI_Alltoallv) alltoallv;
  decltype(&MPI_Ibarrier) ibarrier;
  decltype(&MPI_Ibcast) ibcast;
  decltype(&MPI_Iallreduce) iallreduce;
  decltype(&MPI_Allreduce_init) allreduce_init;
};

// Ends the program when the file or a function is missing.
Mpi load(const char* file, const Seams& seams);

}  // namespace tutti::ruler
