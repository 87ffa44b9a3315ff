// The tools interface: control and performance variables, categories, events; and the questions
// about the environment.
#include <array>
#include <atomic>
#include <cstring>

#include "everywhere.h"

namespace everywhere {
namespace {

void environment(const Mine&) {
  int version = 0, minor = 0, length = 0, flag = 0, level = 0;
  char library[MPI_MAX_LIBRARY_VERSION_STRING], host[MPI_MAX_PROCESSOR_NAME];
  MPI_Get_version(&version, &minor);
  CHECK(version == 5 && minor == 0);
  MPI_Get_library_version(library, &length);
  MPI_Get_processor_name(host, &length);
  MPI_Initialized(&flag);
  CHECK(flag == 1);
  MPI_Finalized(&flag);
  CHECK(flag == 0);
  MPI_Is_thread_main(&flag);
  CHECK(flag == 0);
  MPI_Query_thread(&level);
  CHECK(level == MPI_THREAD_MULTIPLE);
  const double before = MPI_Wtime();
  CHECK(MPI_Wtick() > 0 && MPI_Wtime() >= before);
  void* memory = nullptr;
  MPI_Alloc_mem(1000, MPI_INFO_NULL, &memory);
  std::memset(memory, 0, 1000);
  MPI_Free_mem(memory);
  MPI_Info info;
  MPI_Get_hw_resource_info(&info);
  MPI_Info_free(&info);
  MPI_Comm parent;
  MPI_Comm_get_parent(&parent);
  CHECK(parent == MPI_COMM_NULL);
  MPI_Pcontrol(1);
}

void abi(const Mine&) {
  int major = 0, minor = -1, yes = 0, no = 0, is_set = 0;
  MPI_Info info;
  MPI_Abi_get_version(&major, &minor);
  CHECK(major == MPI_ABI_VERSION);
  MPI_Abi_get_info(&info);
  MPI_Info_free(&info);
  MPI_Abi_get_fortran_info(&info);
  MPI_Abi_set_fortran_info(info);
  MPI_Info_free(&info);
  MPI_Abi_get_fortran_booleans(4, &yes, &no, &is_set);  // main() set them
  CHECK(yes == 1 && no == 0);
}

void controls(const Mine&) {
  int provided = 0, number = 0, index = -1, count = 0, items = 0, length = 0, value = 0;
  MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided);
  MPI_T_cvar_get_num(&number);
  CHECK(number > 10);
  MPI_T_cvar_get_index("TUTTI_CHECKS", &index);
  MPI_T_enum values = MPI_T_ENUM_NULL;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_T_cvar_get_info(index, nullptr, nullptr, nullptr, &type, &values, nullptr, nullptr, nullptr,
                      nullptr);
  char word[20];
  length = sizeof word;
  MPI_T_enum_get_info(values, &items, word, &length);
  length = sizeof word;
  MPI_T_enum_get_item(values, 1, &value, word, &length);
  CHECK(value == 1 && std::strcmp(word, "on") == 0);
  MPI_T_cvar_handle checks;
  int on = -1;
  MPI_T_cvar_handle_alloc(index, nullptr, &checks, &count);
  MPI_T_cvar_read(checks, &on);
  CHECK(on == 1);
  MPI_T_cvar_write(checks, &on);
  MPI_T_cvar_handle_free(&checks);
  MPI_T_finalize();
}

void categories(const Mine&) {
  int provided = 0, index = -1, stamp = 0, cvars = 0, pvars = 0, below = 0, events = 0, first = -1;
  MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided);
  int number = 0;
  MPI_T_category_get_num(&number);
  MPI_T_category_get_index("p2p", &index);
  MPI_T_category_get_info(index, nullptr, nullptr, nullptr, nullptr, &cvars, &pvars, &below);
  MPI_T_category_get_num_events(index, &events);
  CHECK(number > 1 && cvars > 0 && pvars > 0 && events == 3);
  MPI_T_category_get_cvars(index, 1, &first);
  MPI_T_category_get_pvars(index, 1, &first);
  MPI_T_category_get_events(index, 1, &first);
  MPI_T_category_get_categories(0, 1, &first);
  MPI_T_category_changed(&stamp);
  MPI_T_finalize();
}

void performance(const Mine& my) {
  int provided = 0, number = 0, index = -1, count = 0;
  MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided);
  MPI_T_pvar_get_num(&number);
  MPI_T_pvar_get_index("messages_sent", MPI_T_PVAR_CLASS_COUNTER, &index);
  MPI_T_pvar_get_info(index, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                      nullptr, nullptr, nullptr, nullptr);
  MPI_T_pvar_session session;
  MPI_T_pvar_handle sent;
  unsigned long long value = 0, written = 5;
  MPI_T_pvar_session_create(&session);
  MPI_T_pvar_handle_alloc(session, index, nullptr, &sent, &count);
  MPI_T_pvar_start(session, sent);
  int out = 0, in = 0;
  MPI_Sendrecv(&out, 1, MPI_INT, right(), 800, &in, 1, MPI_INT, left(), 800, my.comm,
               MPI_STATUS_IGNORE);
  MPI_T_pvar_read(session, sent, &value);
  CHECK(value >= 1);  // other threads send too
  MPI_T_pvar_readreset(session, sent, &value);
  MPI_T_pvar_reset(session, sent);
  MPI_T_pvar_write(session, sent, &written);
  MPI_T_pvar_stop(session, sent);
  MPI_T_pvar_handle_free(session, &sent);
  MPI_T_pvar_session_free(&session);
  MPI_T_finalize();
}

// Told by whatever thread makes progress.
void on_message(MPI_T_event_instance instance, MPI_T_event_registration, MPI_T_cb_safety,
                void* data) {
  struct {
    int peer, tag;
    MPI_Count bytes;
  } all;
  int tag = -1, source = -1;
  MPI_Count when = 0;
  MPI_T_event_copy(instance, &all);
  MPI_T_event_read(instance, 1, &tag);
  MPI_T_event_get_timestamp(instance, &when);
  MPI_T_event_get_source(instance, &source);
  CHECK(tag == all.tag && source == 0);
  static_cast<std::atomic<int>*>(data)->fetch_add(1);
}
void on_dropped(MPI_Count, MPI_T_event_registration, int, MPI_T_cb_safety, void*) {}
void on_free(MPI_T_event_registration, MPI_T_cb_safety, void*) {}

void events(const Mine&) {
  int provided = 0, index = -1, number = 0;
  MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided);
  MPI_T_event_get_num(&number);
  MPI_T_event_get_index("unexpected_message", &index);
  MPI_T_event_get_info(index, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                       nullptr, nullptr, nullptr, nullptr);
  MPI_T_source_get_num(&number);
  MPI_Count now = 0;
  MPI_Info info;
  MPI_T_source_get_info(0, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
  MPI_T_source_get_timestamp(0, &now);
  MPI_T_event_registration event;
  std::atomic<int> seen = 0;
  const auto safety = MPI_T_CB_REQUIRE_MPI_RESTRICTED;
  MPI_T_event_handle_alloc(index, nullptr, MPI_INFO_NULL, &event);
  MPI_T_event_set_dropped_handler(event, on_dropped);
  MPI_T_event_register_callback(event, safety, MPI_INFO_NULL, &seen, on_message);
  MPI_T_event_handle_set_info(event, MPI_INFO_NULL);
  MPI_T_event_callback_set_info(event, safety, MPI_INFO_NULL);
  MPI_T_event_handle_get_info(event, &info);
  MPI_Info_free(&info);
  MPI_T_event_callback_get_info(event, safety, &info);
  MPI_Info_free(&info);
  int word = 1, flag = 0;
  MPI_Comm self;
  MPI_Comm_dup(MPI_COMM_SELF, &self);
  MPI_Request request;
  MPI_Isend(&word, 1, MPI_INT, 0, 5, self, &request);
  while (MPI_Iprobe(0, 5, self, &flag, MPI_STATUS_IGNORE), flag == 0) {
  }
  MPI_Recv(&word, 1, MPI_INT, 0, 5, self, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_free(&self);
  MPI_T_event_handle_free(event, nullptr, on_free);
  CHECK(seen.load() >= 1);
  MPI_T_finalize();
}

constexpr std::array<Family, 6> kFamilies{environment, abi,         controls,
                                          categories,  performance, events};

}  // namespace

std::span<const Family> tools() {
  return kFamilies;
}

}  // namespace everywhere
