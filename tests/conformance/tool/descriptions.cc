// MPI 5.0, 15.3.7 and 15.3.8: what the tools interface says of its performance variables, its
// event sources and the infos of events; each index and each kind of handle is looked at.
#include <cstring>

#include "check.h"

using namespace ranks;

namespace {

void variables() {
  int number = 0;
  CHECK(MPI_T_pvar_get_num(&number) == MPI_SUCCESS && number > 5);
  for (int i = 0; i < number; ++i) {
    char name[100] = "", text[400] = "";
    int length = sizeof name, text_length = sizeof text, kind = -1, bind = -1, index = -1;
    int verbosity = -1, readonly = -1, continuous = -1, atomic = -1;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_T_enum values = MPI_T_ENUM_NULL;
    CHECK(MPI_T_pvar_get_info(i, name, &length, &verbosity, &kind, &type, &values, text,
                              &text_length, &bind, &readonly, &continuous, &atomic) == MPI_SUCCESS);
    CHECK(length == static_cast<int>(std::strlen(name)) + 1 && length > 1 && text[0] != '\0');
    CHECK(MPI_T_pvar_get_index(name, kind, &index) == MPI_SUCCESS && index == i);
    int bytes = 0;
    MPI_Type_size(type, &bytes);
    CHECK(bytes == 8 && bind == MPI_T_BIND_NO_OBJECT && verbosity >= MPI_T_VERBOSITY_USER_BASIC);
    CHECK((readonly == 0 || readonly == 1) && (continuous == 0 || continuous == 1));
    if (kind == MPI_T_PVAR_CLASS_COUNTER) CHECK(continuous == 0 && readonly == 0 && atomic == 1);
  }
  CHECK(MPI_T_pvar_get_info(number, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                            nullptr, nullptr, nullptr, nullptr,
                            nullptr) == MPI_T_ERR_INVALID_INDEX);
}

bool is_empty_and_mine(MPI_Info* info) {
  int keys = -1;
  MPI_Info_get_nkeys(*info, &keys);
  return MPI_Info_free(info) == MPI_SUCCESS && keys == 0;
}

void sources() {
  int number = -1, length = 0, text_length = 0;
  CHECK(MPI_T_source_get_num(&number) == MPI_SUCCESS && number == 1);
  char name[50] = "", text[200] = "";
  length = sizeof name;
  text_length = sizeof text;
  MPI_T_source_order order = MPI_T_SOURCE_UNORDERED;
  MPI_Count ticks = 0, most = 0, before = 0, after = 0;
  MPI_Info info = MPI_INFO_NULL;
  CHECK(MPI_T_source_get_info(0, name, &length, text, &text_length, &order, &ticks, &most, &info) ==
        MPI_SUCCESS);
  CHECK(name[0] != '\0' && text[0] != '\0' && order == MPI_T_SOURCE_ORDERED);
  CHECK(is_empty_and_mine(&info));
  CHECK(MPI_T_source_get_timestamp(0, &before) == MPI_SUCCESS && before <= most);
  const double start = MPI_Wtime();
  while (MPI_Wtime() < start + 0.01) {
  }
  CHECK(MPI_T_source_get_timestamp(0, &after) == MPI_SUCCESS);
  CHECK(after - before >= ticks / 200 && ticks > 0);
  CHECK(MPI_T_source_get_info(1, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                              nullptr) == MPI_T_ERR_INVALID_INDEX);
}

void on_event(MPI_T_event_instance, MPI_T_event_registration, MPI_T_cb_safety, void*) {}

void infos_of_events() {
  MPI_T_event_registration event;
  MPI_Info info = MPI_INFO_NULL;
  CHECK(MPI_T_event_handle_alloc(0, nullptr, MPI_INFO_NULL, &event) == MPI_SUCCESS);
  const auto safety = MPI_T_CB_REQUIRE_MPI_RESTRICTED;
  CHECK(MPI_T_event_register_callback(event, safety, MPI_INFO_NULL, nullptr, on_event) ==
        MPI_SUCCESS);
  CHECK(MPI_T_event_handle_get_info(event, &info) == MPI_SUCCESS && is_empty_and_mine(&info));
  info = MPI_INFO_NULL;
  CHECK(MPI_T_event_callback_get_info(event, safety, &info) == MPI_SUCCESS);
  CHECK(is_empty_and_mine(&info));
  CHECK(MPI_T_event_handle_set_info(event, MPI_INFO_NULL) == MPI_SUCCESS);
  CHECK(MPI_T_event_callback_set_info(event, safety, MPI_INFO_NULL) == MPI_SUCCESS);
  CHECK(MPI_T_event_handle_free(event, nullptr, nullptr) == MPI_SUCCESS);
  CHECK(MPI_T_event_handle_set_info(event, MPI_INFO_NULL) == MPI_T_ERR_INVALID_HANDLE);
  CHECK(MPI_T_event_callback_set_info(event, safety, MPI_INFO_NULL) == MPI_T_ERR_INVALID_HANDLE);
}

}  // namespace

int main() {
  int provided = 0;
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  begin();
  variables();
  sources();
  infos_of_events();
  MPI_T_finalize();
  return done();
}
