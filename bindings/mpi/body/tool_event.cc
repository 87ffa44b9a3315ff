// Chapter 15: events and their source, the clock.
#include <array>
#include <cstddef>
#include <cstring>

#include "base/clock.h"
#include "bodies.h"
#include "mpi/callback.h"
#include "mpi/tool/tool.h"

namespace tutti::mpi::body {
namespace {

using namespace tool;

const std::array<MPI_Datatype, kElements> kTypes{MPI_INT, MPI_INT, MPI_COUNT};
constexpr std::array<MPI_Aint, kElements> kPlaces{
    offsetof(EventData, peer), offsetof(EventData, tag), offsetof(EventData, bytes)};
constexpr std::array<std::size_t, kElements> kSizes{sizeof(int), sizeof(int), sizeof(MPI_Count)};

int give_empty_info(MPI_Info* info) {
  if (info != nullptr) *info = handle_to(new Info, MPI_INFO_NULL);
  return MPI_SUCCESS;
}

}  // namespace

int t_event_get_num(int* num_events) {
  const Entry entry;
  if (entry.code != MPI_SUCCESS) return entry.code;
  if (num_events == nullptr) return MPI_T_ERR_INVALID;
  *num_events = static_cast<int>(event_kinds().size());
  return MPI_SUCCESS;
}

int t_event_get_info(int event_index, char* name, int* name_len, int* verbosity,
                     MPI_Datatype array_of_datatypes[], MPI_Aint array_of_displacements[],
                     int* num_elements, MPI_T_enum* enumtype, MPI_Info* info, char* desc,
                     int* desc_len, int* bind) {
  const Entry entry;
  if (entry.code != MPI_SUCCESS) return entry.code;
  if (!is_index(event_index, event_kinds().size())) return MPI_T_ERR_INVALID_INDEX;
  const EventKind& kind = event_kinds()[static_cast<std::size_t>(event_index)];
  put_name(kind.name, name, name_len);
  put_name(kind.about, desc, desc_len);
  put(verbosity, MPI_T_VERBOSITY_USER_DETAIL);
  for (int i = 0; num_elements != nullptr && i < *num_elements && i < kElements; ++i) {
    const auto place = static_cast<std::size_t>(i);
    if (array_of_datatypes != nullptr) array_of_datatypes[i] = kTypes[place];
    if (array_of_displacements != nullptr) array_of_displacements[i] = kPlaces[place];
  }
  put(num_elements, kElements);
  put(enumtype, MPI_T_ENUM_NULL);
  put(bind, MPI_T_BIND_NO_OBJECT);
  return give_empty_info(info);
}

int t_event_get_index(const char* name, int* event_index) {
  const Entry entry;
  if (entry.code != MPI_SUCCESS) return entry.code;
  if (name == nullptr || event_index == nullptr) return MPI_T_ERR_INVALID;
  for (std::size_t i = 0; i < event_kinds().size(); ++i) {
    if (std::strcmp(event_kinds()[i].name, name) != 0) continue;
    *event_index = static_cast<int>(i);
    return MPI_SUCCESS;
  }
  return MPI_T_ERR_INVALID_NAME;
}

int t_event_handle_alloc(int event_index, void* /*obj_handle*/, MPI_Info /*info*/,
                         MPI_T_event_registration* event_registration) {
  const Entry entry;
  if (entry.code != MPI_SUCCESS) return entry.code;
  if (!is_index(event_index, event_kinds().size())) return MPI_T_ERR_INVALID_INDEX;
  if (event_registration == nullptr) return MPI_T_ERR_INVALID;
  *event_registration = reinterpret_cast<MPI_T_event_registration>(add_registration(event_index));
  return MPI_SUCCESS;
}

// Its callbacks may be under way in another thread, or further down in this one.
int t_event_handle_free(MPI_T_event_registration event_registration, void* user_data,
                        MPI_T_event_free_cb_function free_cb_function) {
  Registration* found = nullptr;
  {
    const Entry entry;
    if (entry.code != MPI_SUCCESS) return entry.code;
    found = registered(event_registration);
    if (found == nullptr) return MPI_T_ERR_INVALID_HANDLE;
    found->on_free = free_cb_function;
    found->free_data = user_data;
    if (!drop_registration(*found)) return MPI_SUCCESS;
  }
  if (is_happening())
    end_registration(found);
  else
    call_user(&end_registration, found);
  return MPI_SUCCESS;
}

int t_event_handle_get_info(MPI_T_event_registration event_registration, MPI_Info* info_used) {
  const Entry entry;
  if (entry.code != MPI_SUCCESS) return entry.code;
  if (registered(event_registration) == nullptr) return MPI_T_ERR_INVALID_HANDLE;
  if (info_used == nullptr) return MPI_T_ERR_INVALID;
  return give_empty_info(info_used);
}
int t_event_handle_set_info(MPI_T_event_registration event_registration, MPI_Info /*info*/) {
  const Entry entry;
  if (entry.code != MPI_SUCCESS) return entry.code;
  return registered(event_registration) == nullptr ? MPI_T_ERR_INVALID_HANDLE : MPI_SUCCESS;
}

int t_event_register_callback(MPI_T_event_registration event_registration,
                              MPI_T_cb_safety cb_safety, MPI_Info /*info*/, void* user_data,
                              MPI_T_event_cb_function event_cb_function) {
  const Entry entry;
  if (entry.code != MPI_SUCCESS) return entry.code;
  Registration* const found = registered(event_registration);
  if (found == nullptr) return MPI_T_ERR_INVALID_HANDLE;
  const int place = safety_index(cb_safety);
  if (place < 0) return MPI_T_ERR_INVALID;
  found->callbacks[static_cast<std::size_t>(place)] = {event_cb_function, user_data};
  return MPI_SUCCESS;
}

int t_event_callback_set_info(MPI_T_event_registration event_registration,
                              MPI_T_cb_safety cb_safety, MPI_Info /*info*/) {
  const Entry entry;
  if (entry.code != MPI_SUCCESS) return entry.code;
  if (registered(event_registration) == nullptr) return MPI_T_ERR_INVALID_HANDLE;
  return safety_index(cb_safety) < 0 ? MPI_T_ERR_INVALID : MPI_SUCCESS;
}
int t_event_callback_get_info(MPI_T_event_registration event_registration,
                              MPI_T_cb_safety cb_safety, MPI_Info* info_used) {
  const Entry entry;
  if (entry.code != MPI_SUCCESS) return entry.code;
  if (registered(event_registration) == nullptr) return MPI_T_ERR_INVALID_HANDLE;
  if (safety_index(cb_safety) < 0 || info_used == nullptr) return MPI_T_ERR_INVALID;
  return give_empty_info(info_used);
}

int t_event_set_dropped_handler(MPI_T_event_registration event_registration,
                                MPI_T_event_dropped_cb_function dropped_cb_function) {
  const Entry entry;
  if (entry.code != MPI_SUCCESS) return entry.code;
  Registration* const found = registered(event_registration);
  if (found == nullptr) return MPI_T_ERR_INVALID_HANDLE;
  found->on_dropped = dropped_cb_function;
  return MPI_SUCCESS;
}

int t_event_read(MPI_T_event_instance event_instance, int element_index, void* buffer) {
  const Entry entry;
  if (entry.code != MPI_SUCCESS) return entry.code;
  const Instance* const instance = happening(event_instance);
  if (instance == nullptr) return MPI_T_ERR_INVALID_HANDLE;
  if (buffer == nullptr) return MPI_T_ERR_INVALID;
  if (!is_index(element_index, kElements)) return MPI_T_ERR_INVALID_INDEX;
  const auto place = static_cast<std::size_t>(element_index);
  const auto* const data = reinterpret_cast<const char*>(&instance->data);
  std::memcpy(buffer, data + kPlaces[place], kSizes[place]);
  return MPI_SUCCESS;
}
int t_event_copy(MPI_T_event_instance event_instance, void* buffer) {
  const Entry entry;
  if (entry.code != MPI_SUCCESS) return entry.code;
  const Instance* const instance = happening(event_instance);
  if (instance == nullptr) return MPI_T_ERR_INVALID_HANDLE;
  if (buffer == nullptr) return MPI_T_ERR_INVALID;
  std::memcpy(buffer, &instance->data, sizeof(EventData));
  return MPI_SUCCESS;
}
int t_event_get_timestamp(MPI_T_event_instance event_instance, MPI_Count* event_timestamp) {
  const Entry entry;
  if (entry.code != MPI_SUCCESS) return entry.code;
  const Instance* const instance = happening(event_instance);
  if (instance == nullptr) return MPI_T_ERR_INVALID_HANDLE;
  if (event_timestamp == nullptr) return MPI_T_ERR_INVALID;
  *event_timestamp = instance->timestamp;
  return MPI_SUCCESS;
}
int t_event_get_source(MPI_T_event_instance event_instance, int* source_index) {
  const Entry entry;
  if (entry.code != MPI_SUCCESS) return entry.code;
  if (happening(event_instance) == nullptr) return MPI_T_ERR_INVALID_HANDLE;
  if (source_index == nullptr) return MPI_T_ERR_INVALID;
  *source_index = 0;
  return MPI_SUCCESS;
}

int t_source_get_num(int* num_sources) {
  const Entry entry;
  if (entry.code != MPI_SUCCESS) return entry.code;
  if (num_sources == nullptr) return MPI_T_ERR_INVALID;
  *num_sources = 1;
  return MPI_SUCCESS;
}
int t_source_get_info(int source_index, char* name, int* name_len, char* desc, int* desc_len,
                      MPI_T_source_order* ordering, MPI_Count* ticks_per_second,
                      MPI_Count* max_ticks, MPI_Info* info) {
  const Entry entry;
  if (entry.code != MPI_SUCCESS) return entry.code;
  if (source_index != 0) return MPI_T_ERR_INVALID_INDEX;
  put_name("messages", name, name_len);
  put_name("what happens to the messages of this process", desc, desc_len);
  put(ordering, MPI_T_SOURCE_ORDERED);
  put(ticks_per_second, MPI_Count{1'000'000'000});
  put(max_ticks, MPI_Count{0x7fff'ffff'ffff'ffff});
  return give_empty_info(info);
}
int t_source_get_timestamp(int source_index, MPI_Count* timestamp) {
  const Entry entry;
  if (entry.code != MPI_SUCCESS) return entry.code;
  if (source_index != 0) return MPI_T_ERR_INVALID_INDEX;
  if (timestamp == nullptr) return MPI_T_ERR_INVALID;
  *timestamp = now_ns();
  return MPI_SUCCESS;
}

}  // namespace tutti::mpi::body
