// MPI 5.0, 3.6: a communicator without a buffer of its own uses its session's, whichever way it
// comes from that session, and the process's where its session has none.
#include <algorithm>

#include "check.h"

using namespace ranks;

namespace {

constexpr int kInts = 20000;

int send_to_myself(MPI_Comm comm) {
  int me = -1;
  MPI_Comm_rank(comm, &me);
  const std::vector<int> out(kInts, me + 1);
  std::vector<int> in(kInts, -1);
  const int code = MPI_Bsend(out.data(), kInts, MPI_INT, me, 1, comm);
  if (code != MPI_SUCCESS) return code;
  MPI_Recv(in.data(), kInts, MPI_INT, me, 1, comm, MPI_STATUS_IGNORE);
  CHECK(in == out);
  return MPI_SUCCESS;
}

// Each rank sends its number, plus 1: never all zero.
bool has_passed(const std::vector<char>& room) {
  return std::any_of(room.begin(), room.end(), [](char byte) { return byte != '\0'; });
}

}  // namespace

int main() {
  begin();
  std::vector<char> of_process(kInts * sizeof(int) + MPI_BSEND_OVERHEAD);
  const auto process_bytes = static_cast<int>(of_process.size());
  MPI_Buffer_attach(of_process.data(), process_bytes);
  CHECK(send_to_myself(MPI_COMM_WORLD) == MPI_SUCCESS);

  MPI_Session session;
  MPI_Group all, mine;
  MPI_Comm comm, half;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
  MPI_Group_incl(all, 1, &rank, &mine);
  MPI_Comm_create_from_group(mine, "one each", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
  MPI_Comm_split(comm, 0, 0, &half);
  std::fill(of_process.begin(), of_process.end(), '\0');
  CHECK(send_to_myself(half) == MPI_SUCCESS);  // by the process's
  CHECK(has_passed(of_process));
  CHECK(send_to_myself(comm) == MPI_SUCCESS);
  std::vector<char> room(kInts * sizeof(int) + MPI_BSEND_OVERHEAD);
  const auto bytes = static_cast<int>(room.size());
  CHECK(MPI_Session_attach_buffer(session, room.data(), bytes) == MPI_SUCCESS);
  std::fill(of_process.begin(), of_process.end(), '\0');
  CHECK(send_to_myself(comm) == MPI_SUCCESS);
  CHECK(send_to_myself(half) == MPI_SUCCESS);
  CHECK(!has_passed(of_process) && has_passed(room));
  MPI_Request request;
  CHECK(MPI_Session_flush_buffer(session) == MPI_SUCCESS);
  CHECK(MPI_Session_iflush_buffer(session, &request) == MPI_SUCCESS);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  void* back = nullptr;
  int size_back = -1;
  CHECK(MPI_Session_detach_buffer(session, &back, &size_back) == MPI_SUCCESS);
  CHECK(back == room.data() && size_back == bytes);
  CHECK(MPI_Buffer_detach(&back, &size_back) == MPI_SUCCESS);
  CHECK(back == of_process.data() && size_back == process_bytes);
  CHECK(class_of(send_to_myself(comm)) == MPI_ERR_BUFFER);  // none is left
  MPI_Comm_free(&half);
  MPI_Comm_free(&comm);
  MPI_Group_free(&mine);
  MPI_Group_free(&all);
  MPI_Session_finalize(&session);
  return done();
}
