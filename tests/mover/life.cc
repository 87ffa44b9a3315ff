// Beginning and end of MPI, and rooms for buffered sends, which live between calls.
#include "life.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

#include "mover.h"

namespace mover {
namespace {

struct Room {
  void* original = nullptr;
  std::unique_ptr<Move> moved;
};

// What lives as long as the process: calls come while it ends, too.
struct Life {
  std::mutex mutex;
  int users = 0;  // MPI_Init and sessions
  MPI_Session session = MPI_SESSION_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  std::map<const void*, Room> rooms;  // by who attached them
  std::map<std::string, unsigned long> counts;
};
Life& life() {
  static auto& all = *new Life;
  return all;
}
// Release: what open() made. Its partner is is_open().
std::atomic<bool> open_now{false};

void begin_gpu() {
  static bool has_begun = false;
  if (has_begun) return;
  has_begun = true;
  const char* const seed = std::getenv("MOVER_SEED");
  if (seed != nullptr) ::setenv("GPU_TEST_SEED", seed, 1);
  gpu::begin();
  // Some programs have a context that is current, some not.
  CUcontext own = nullptr;
  if (gpu::luck()() % 2 == 0) CU(cuCtxPopCurrent(&own));
}

// Own session: its errors are ours alone, and there is one whichever way the program began.
void open() {
  const std::lock_guard lock(life().mutex);
  if (life().users++ > 0) return;
  MPI_Group self = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
  PMPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &life().session);
  PMPI_Group_from_session_pset(life().session, "mpi://WORLD", &world);
  PMPI_Group_rank(world, &ranks::rank);
  PMPI_Group_free(&world);
  PMPI_Group_from_session_pset(life().session, "mpi://SELF", &self);
  PMPI_Comm_create_from_group(self, "mover", MPI_INFO_NULL, MPI_ERRORS_RETURN, &life().comm);
  PMPI_Group_free(&self);
  begin_gpu();
  open_now.store(true, std::memory_order_release);
}

void write_counts() {
  const char* const path = std::getenv("MOVER_COUNTS");
  if (path == nullptr) return;
  std::string text;
  for (const auto& [name, count] : life().counts) text += name + " " + std::to_string(count) + "\n";
  const int file = ::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0 || ::write(file, text.data(), text.size()) < 0) std::perror(path);
  ::close(file);
}

void close() {
  const std::lock_guard lock(life().mutex);
  if (life().users == 0 || --life().users > 0) return;
  close_requests();
  open_now.store(false, std::memory_order_relaxed);
  write_counts();
  PMPI_Comm_free(&life().comm);
  PMPI_Session_finalize(&life().session);
}

// The room is memory without content: what is in it after it was given back is nobody's.
template <class Attach>
int attach(const void* owner, void* buffer, MPI_Count bytes, Attach with) {
  if (!is_open() || buffer == MPI_BUFFER_AUTOMATIC) return with(buffer);
  Room room{buffer,
            Move::make(buffer, bytes_of(buffer, bytes), Way::received, "MPI_Buffer_attach")};
  const int code = with(room.moved == nullptr ? buffer : room.moved->address());
  if (code != MPI_SUCCESS || room.moved == nullptr) return code;
  count_move("MPI_Buffer_attach");
  const std::lock_guard lock(life().mutex);
  life().rooms[owner] = std::move(room);
  return code;
}
template <class Detach>
int detach(const void* owner, void* buffer, Detach with) {
  const int code = with();
  if (code != MPI_SUCCESS) return code;
  const std::lock_guard lock(life().mutex);
  const auto found = life().rooms.find(owner);
  if (found == life().rooms.end()) return code;
  *static_cast<void**>(buffer) = found->second.original;
  life().rooms.erase(found);
  return code;
}

}  // namespace

bool is_open() {
  return open_now.load(std::memory_order_acquire);  // with open()
}
MPI_Comm own_comm() {
  return life().comm;
}
void count_move(const char* what) {
  const std::lock_guard lock(life().mutex);
  ++life().counts[what];
}

}  // namespace mover

using namespace mover;

extern "C" {

int MPI_Init(int* argc, char*** argv) {
  const int code = PMPI_Init(argc, argv);
  if (code == MPI_SUCCESS) open();
  return code;
}
int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const int code = PMPI_Init_thread(argc, argv, required, provided);
  if (code == MPI_SUCCESS) open();
  return code;
}
// Ours is the last use of MPI: what callbacks do in the program's end is moved, too.
int MPI_Finalize() {
  const int code = PMPI_Finalize();
  if (code == MPI_SUCCESS) close();
  return code;
}
int MPI_Session_init(MPI_Info info, MPI_Errhandler errhandler, MPI_Session* session) {
  const int code = PMPI_Session_init(info, errhandler, session);
  if (code == MPI_SUCCESS) open();
  return code;
}
int MPI_Session_finalize(MPI_Session* session) {
  const int code = PMPI_Session_finalize(session);
  if (code == MPI_SUCCESS) close();
  return code;
}

int MPI_Buffer_attach(void* buffer, int bytes) {
  return attach(nullptr, buffer, bytes, [&](void* to) { return PMPI_Buffer_attach(to, bytes); });
}
int MPI_Buffer_attach_c(void* buffer, MPI_Count bytes) {
  return attach(nullptr, buffer, bytes, [&](void* to) { return PMPI_Buffer_attach_c(to, bytes); });
}
int MPI_Buffer_detach(void* buffer, int* bytes) {
  return detach(nullptr, buffer, [&] { return PMPI_Buffer_detach(buffer, bytes); });
}
int MPI_Buffer_detach_c(void* buffer, MPI_Count* bytes) {
  return detach(nullptr, buffer, [&] { return PMPI_Buffer_detach_c(buffer, bytes); });
}
int MPI_Comm_attach_buffer(MPI_Comm comm, void* buffer, int bytes) {
  return attach(comm, buffer, bytes,
                [&](void* to) { return PMPI_Comm_attach_buffer(comm, to, bytes); });
}
int MPI_Comm_attach_buffer_c(MPI_Comm comm, void* buffer, MPI_Count bytes) {
  return attach(comm, buffer, bytes,
                [&](void* to) { return PMPI_Comm_attach_buffer_c(comm, to, bytes); });
}
int MPI_Comm_detach_buffer(MPI_Comm comm, void* buffer, int* bytes) {
  return detach(comm, buffer, [&] { return PMPI_Comm_detach_buffer(comm, buffer, bytes); });
}
int MPI_Comm_detach_buffer_c(MPI_Comm comm, void* buffer, MPI_Count* bytes) {
  return detach(comm, buffer, [&] { return PMPI_Comm_detach_buffer_c(comm, buffer, bytes); });
}
int MPI_Session_attach_buffer(MPI_Session session, void* buffer, int bytes) {
  return attach(session, buffer, bytes,
                [&](void* to) { return PMPI_Session_attach_buffer(session, to, bytes); });
}
int MPI_Session_attach_buffer_c(MPI_Session session, void* buffer, MPI_Count bytes) {
  return attach(session, buffer, bytes,
                [&](void* to) { return PMPI_Session_attach_buffer_c(session, to, bytes); });
}
int MPI_Session_detach_buffer(MPI_Session session, void* buffer, int* bytes) {
  return detach(session, buffer,
                [&] { return PMPI_Session_detach_buffer(session, buffer, bytes); });
}
int MPI_Session_detach_buffer_c(MPI_Session session, void* buffer, MPI_Count* bytes) {
  return detach(session, buffer,
                [&] { return PMPI_Session_detach_buffer_c(session, buffer, bytes); });
}

}  // extern "C"
