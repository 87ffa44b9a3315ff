// MPI 5.0, 15.3.8: events: their types and sources, callbacks by safety, what is dropped.
#include "check.h"

using namespace ranks;

namespace {

struct Seen {
  int calls = 0, peer = -1, tag = -1, source = -1, dropped = 0, freed = 0;
  MPI_Count bytes = -1, when = -1;
};

void on_event(MPI_T_event_instance instance, MPI_T_event_registration, MPI_T_cb_safety safety,
              void* data) {
  auto& seen = *static_cast<Seen*>(data);
  ++seen.calls;
  struct {
    int peer, tag;
    MPI_Count bytes;
  } all;
  CHECK(safety == MPI_T_CB_REQUIRE_MPI_RESTRICTED);
  CHECK(MPI_T_event_copy(instance, &all) == MPI_SUCCESS);
  CHECK(MPI_T_event_read(instance, 0, &seen.peer) == MPI_SUCCESS && seen.peer == all.peer);
  CHECK(MPI_T_event_read(instance, 1, &seen.tag) == MPI_SUCCESS && seen.tag == all.tag);
  CHECK(MPI_T_event_read(instance, 2, &seen.bytes) == MPI_SUCCESS && seen.bytes == all.bytes);
  CHECK(MPI_T_event_read(instance, 3, &all) == MPI_T_ERR_INVALID_INDEX);
  MPI_T_event_get_timestamp(instance, &seen.when);
  MPI_T_event_get_source(instance, &seen.source);
}
void on_dropped(MPI_Count count, MPI_T_event_registration, int, MPI_T_cb_safety, void* data) {
  static_cast<Seen*>(data)->dropped += static_cast<int>(count);
}
void on_free(MPI_T_event_registration, MPI_T_cb_safety, void* data) {
  ++static_cast<Seen*>(data)->freed;
}

void unexpected_message(int tag) {
  const int out[3] = {1, 2, 3};
  int in[3], flag = 0;
  MPI_Send(out, 3, MPI_INT, 0, tag, MPI_COMM_SELF);
  while (flag == 0) MPI_Iprobe(0, tag, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
  MPI_Recv(in, 3, MPI_INT, 0, tag, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

void description(int index) {
  char name[40];
  int length = sizeof name, elements = 2;
  MPI_Datatype types[3] = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};
  MPI_Aint places[3] = {-1, -1, -1};
  MPI_Info info;
  CHECK(MPI_T_event_get_info(index, name, &length, nullptr, types, places, &elements, nullptr,
                             &info, nullptr, nullptr, nullptr) == MPI_SUCCESS);
  CHECK(elements == 3 && types[1] == MPI_INT && places[1] == 4);
  CHECK(types[2] == MPI_DATATYPE_NULL);  // there was room for two
  MPI_Info_free(&info);
}

}  // namespace

int main() {
  int provided = 0, index = -1, number = 0;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  CHECK(MPI_T_event_get_num(&number) == MPI_SUCCESS && number == 3);
  CHECK(MPI_T_event_get_index("unexpected_message", &index) == MPI_SUCCESS);
  CHECK(MPI_T_event_get_index("nothing", &number) == MPI_T_ERR_INVALID_NAME);
  description(index);
  MPI_T_event_registration registration, before;
  Seen seen;
  CHECK(MPI_T_event_handle_alloc(index, nullptr, MPI_INFO_NULL, &before) == MPI_SUCCESS);
  begin();
  CHECK(MPI_T_event_handle_alloc(index, nullptr, MPI_INFO_NULL, &registration) == MPI_SUCCESS);
  MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, &seen,
                                on_event);
  MPI_T_event_set_dropped_handler(registration, on_dropped);
  unexpected_message(3);
  CHECK(seen.calls == 0 && seen.dropped == 1);  // that callback asks for too much
  MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_INFO_NULL, &seen,
                                on_event);
  MPI_Count earlier = 0, later = 0;
  MPI_T_source_get_timestamp(0, &earlier);
  unexpected_message(4);
  MPI_T_source_get_timestamp(0, &later);
  CHECK(seen.calls == 1 && seen.tag == 4 && seen.bytes == 12 && seen.peer == rank);
  CHECK(seen.source == 0 && seen.when >= earlier && seen.when <= later);
  CHECK(MPI_T_event_handle_free(registration, &seen, on_free) == MPI_SUCCESS && seen.freed == 1);
  CHECK(MPI_T_event_handle_free(registration, &seen, on_free) == MPI_T_ERR_INVALID_HANDLE);
  unexpected_message(5);
  CHECK(seen.calls == 1);
  MPI_T_event_handle_free(before, nullptr, nullptr);
  MPI_T_finalize();
  return done();
}
