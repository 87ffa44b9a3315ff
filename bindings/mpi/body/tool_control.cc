// Chapter 15: the tool interface's start and end, control variables and enumerations.
#include <cstring>

#include "base/knobs.h"
#include "bodies.h"
#include "mpi/tool/tool.h"

namespace tutti::mpi::body {
namespace {

using namespace tool;

// The only enumeration: of knobs that are 0 or 1. Its handle is the address of its values.
constexpr const char* kSwitch[] = {"off", "on"};
bool is_switch_enum(MPI_T_enum handle) {
  return reinterpret_cast<const void*>(handle) == static_cast<const void*>(kSwitch);
}
MPI_T_enum switch_enum() {
  return reinterpret_cast<MPI_T_enum>(reinterpret_cast<std::uintptr_t>(kSwitch));
}

const KnobRow& row_of_cvar(int knob) {
  return Knobs::rows()[static_cast<std::size_t>(knob)];
}
MPI_Datatype type_of_knob(int knob) {
  if (is_text(knob)) return MPI_CHAR;
  return is_switch(knob) ? MPI_INT : MPI_COUNT;
}
// Algorithms and links must be alike on all ranks; the rest is each rank's own matter.
int scope_of(int knob) {
  const bool is_common = std::strcmp(row_of_cvar(knob).owner, "select") == 0 ||
                         std::strcmp(row_of_cvar(knob).owner, "transport") == 0;
  return is_common ? MPI_T_SCOPE_ALL_EQ : MPI_T_SCOPE_LOCAL;
}

const ControlHandle* control(MPI_T_cvar_handle handle) {
  return is_live(handle) ? reinterpret_cast<const ControlHandle*>(handle) : nullptr;
}

}  // namespace

int t_init_thread(int required, int* provided) {
  if (provided == nullptr || required < MPI_THREAD_SINGLE || required > MPI_THREAD_MULTIPLE)
    return MPI_T_ERR_INVALID;
  *provided = MPI_THREAD_MULTIPLE;
  return tool::start();
}
int t_finalize() {
  return tool::end();
}

int t_cvar_get_num(int* num_cvar) {
  const Entry entry;
  if (entry.code != MPI_SUCCESS) return entry.code;
  if (num_cvar == nullptr) return MPI_T_ERR_INVALID;
  *num_cvar = static_cast<int>(Knobs::rows().size());
  return MPI_SUCCESS;
}

int t_cvar_get_info(int cvar_index, char* name, int* name_len, int* verbosity,
                    MPI_Datatype* datatype, MPI_T_enum* enumtype, char* desc, int* desc_len,
                    int* bind, int* scope) {
  const Entry entry;
  if (entry.code != MPI_SUCCESS) return entry.code;
  if (!is_index(cvar_index, Knobs::rows().size())) return MPI_T_ERR_INVALID_INDEX;
  put_name(row_of_cvar(cvar_index).name, name, name_len);
  put_name(row_of_cvar(cvar_index).why, desc, desc_len);
  put(verbosity, MPI_T_VERBOSITY_TUNER_BASIC);
  if (datatype != nullptr) *datatype = type_of_knob(cvar_index);
  put(enumtype, is_switch(cvar_index) ? switch_enum() : MPI_T_ENUM_NULL);
  put(bind, MPI_T_BIND_NO_OBJECT);
  put(scope, scope_of(cvar_index));
  return MPI_SUCCESS;
}

int t_cvar_get_index(const char* name, int* cvar_index) {
  const Entry entry;
  if (entry.code != MPI_SUCCESS) return entry.code;
  if (name == nullptr || cvar_index == nullptr) return MPI_T_ERR_INVALID;
  for (std::size_t i = 0; i < Knobs::rows().size(); ++i) {
    if (std::strcmp(Knobs::rows()[i].name, name) != 0) continue;
    *cvar_index = static_cast<int>(i);
    return MPI_SUCCESS;
  }
  return MPI_T_ERR_INVALID_NAME;
}

int t_cvar_handle_alloc(int cvar_index, void* /*obj_handle*/, MPI_T_cvar_handle* handle,
                        int* count) {
  const Entry entry;
  if (entry.code != MPI_SUCCESS) return entry.code;
  if (!is_index(cvar_index, Knobs::rows().size())) return MPI_T_ERR_INVALID_INDEX;
  if (handle == nullptr || count == nullptr) return MPI_T_ERR_INVALID;
  auto* const made = new ControlHandle{cvar_index};
  remember(made);
  *handle = reinterpret_cast<MPI_T_cvar_handle>(made);
  *count = is_text(cvar_index) ? kTextLength : 1;
  return MPI_SUCCESS;
}

int t_cvar_handle_free(MPI_T_cvar_handle* handle) {
  const Entry entry;
  if (entry.code != MPI_SUCCESS) return entry.code;
  const ControlHandle* const found = handle == nullptr ? nullptr : control(*handle);
  if (found == nullptr) return MPI_T_ERR_INVALID_HANDLE;
  forget(found);
  delete found;
  *handle = MPI_T_CVAR_HANDLE_NULL;
  return MPI_SUCCESS;
}

int t_cvar_read(MPI_T_cvar_handle handle, void* buf) {
  const Entry entry;
  if (entry.code != MPI_SUCCESS) return entry.code;
  const ControlHandle* const found = control(handle);
  if (found == nullptr) return MPI_T_ERR_INVALID_HANDLE;
  if (buf == nullptr) return MPI_T_ERR_INVALID;
  const std::string text = knob_text(found->knob);
  int length = kTextLength;
  if (is_text(found->knob))
    put_name(text, static_cast<char*>(buf), &length);
  else if (is_switch(found->knob))
    *static_cast<int*>(buf) = std::stoi(text);
  else
    *static_cast<MPI_Count*>(buf) = std::stoll(text);
  return MPI_SUCCESS;
}

int t_cvar_write(MPI_T_cvar_handle handle, const void* buf) {
  const Entry entry;
  if (entry.code != MPI_SUCCESS) return entry.code;
  const ControlHandle* const found = control(handle);
  if (found == nullptr) return MPI_T_ERR_INVALID_HANDLE;
  if (buf == nullptr) return MPI_T_ERR_INVALID;
  if (is_text(found->knob)) {
    const auto* const text = static_cast<const char*>(buf);
    return set_knob(found->knob, std::string(text, ::strnlen(text, kTextLength)));
  }
  if (is_switch(found->knob))
    return set_knob(found->knob, std::to_string(*static_cast<const int*>(buf)));
  return set_knob(found->knob, std::to_string(*static_cast<const MPI_Count*>(buf)));
}

int t_enum_get_info(MPI_T_enum enumtype, int* num, char* name, int* name_len) {
  const Entry entry;
  if (entry.code != MPI_SUCCESS) return entry.code;
  if (!is_switch_enum(enumtype)) return MPI_T_ERR_INVALID_HANDLE;
  put(num, 2);
  put_name("switch", name, name_len);
  return MPI_SUCCESS;
}

int t_enum_get_item(MPI_T_enum enumtype, int indx, int* value, char* name, int* name_len) {
  const Entry entry;
  if (entry.code != MPI_SUCCESS) return entry.code;
  if (!is_switch_enum(enumtype)) return MPI_T_ERR_INVALID_HANDLE;
  if (!is_index(indx, 2)) return MPI_T_ERR_INVALID_INDEX;
  put(value, indx);
  put_name(kSwitch[indx], name, name_len);
  return MPI_SUCCESS;
}

}  // namespace tutti::mpi::body
