// MPI 5.0, 3.6: a buffer with room for one message takes the next after a flush, although the
// receiver is late: the flushes of the process, of a communicator and of a session.
#include <chrono>
#include <thread>

#include "check.h"

using namespace ranks;

namespace {

constexpr int kInts = 30000;  // too long to be sent before it is asked for
std::vector<char> room(kInts * sizeof(int) + MPI_BSEND_OVERHEAD);
const int bytes = static_cast<int>(room.size());

// Even ranks send twice to the odd one after them.
template <typename Flush>
void one_after_another(MPI_Comm comm, Flush flush) {
  std::vector<int> words(kInts, rank);
  const int peer = rank ^ 1;
  if (peer >= size) return;
  for (int i = 0; i < 3; ++i) {
    if (rank % 2 == 0) {
      CHECK(MPI_Bsend(words.data(), kInts, MPI_INT, peer, i, comm) == MPI_SUCCESS);
      CHECK(flush() == MPI_SUCCESS);
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      MPI_Recv(words.data(), kInts, MPI_INT, peer, i, comm, MPI_STATUS_IGNORE);
      CHECK(words == std::vector<int>(kInts, peer));
    }
  }
}

void of_the_process() {
  void* back = nullptr;
  int size_back = 0;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Buffer_attach(room.data(), bytes);
  one_after_another(MPI_COMM_WORLD, [] { return MPI_Buffer_flush(); });
  MPI_Buffer_detach(&back, &size_back);
}

void of_a_communicator() {
  void* back = nullptr;
  int size_back = 0;
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_attach_buffer(comm, room.data(), bytes);
  one_after_another(comm, [comm] { return MPI_Comm_flush_buffer(comm); });
  MPI_Comm_detach_buffer(comm, &back, &size_back);
  MPI_Comm_free(&comm);
}

void of_a_session() {
  void* back = nullptr;
  int size_back = 0;
  MPI_Session session;
  MPI_Group all;
  MPI_Comm comm;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
  MPI_Comm_create_from_group(all, "everyone", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
  MPI_Session_attach_buffer(session, room.data(), bytes);
  one_after_another(comm, [session] { return MPI_Session_flush_buffer(session); });
  MPI_Session_detach_buffer(session, &back, &size_back);
  MPI_Comm_free(&comm);
  MPI_Group_free(&all);
  MPI_Session_finalize(&session);
}

}  // namespace

int main() {
  begin();
  of_the_process();
  of_a_communicator();
  of_a_session();
  return done();
}
