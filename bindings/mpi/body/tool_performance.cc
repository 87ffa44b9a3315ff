// Chapter 15: performance variables: sessions and handles over the endpoint's counters.
#include <algorithm>
#include <cstring>
#include <vector>

#include "bodies.h"
#include "mpi/tool/tool.h"

namespace tutti::mpi::body {
namespace {

using namespace tool;

struct PerformanceSession {
  std::vector<PerformanceHandle*> handles;
};

PerformanceSession* session_of(MPI_T_pvar_session handle) {
  return is_live(handle) ? reinterpret_cast<PerformanceSession*>(handle) : nullptr;
}
PerformanceHandle* in_session(const PerformanceSession& session, MPI_T_pvar_handle handle) {
  auto* const wanted = reinterpret_cast<PerformanceHandle*>(handle);
  const auto& all = session.handles;
  return std::find(all.begin(), all.end(), wanted) == all.end() ? nullptr : wanted;
}

int set_running(PerformanceHandle& handle, bool runs) {
  if (!handle.variable->counts()) return MPI_T_ERR_PVAR_NO_STARTSTOP;
  if (handle.is_running == runs) return MPI_SUCCESS;
  handle.before = handle.value();
  handle.from = value_now(*handle.variable);
  handle.is_running = runs;
  return MPI_SUCCESS;
}
int start_one(PerformanceHandle& handle) {
  return set_running(handle, true);
}
int stop_one(PerformanceHandle& handle) {
  return set_running(handle, false);
}
int write_one(PerformanceHandle& handle, std::uint64_t value) {
  if (!handle.variable->counts()) return MPI_T_ERR_PVAR_NO_WRITE;
  handle.before = value;
  handle.from = value_now(*handle.variable);
  return MPI_SUCCESS;
}
int reset_one(PerformanceHandle& handle) {
  return write_one(handle, 0);
}

// MPI_T_PVAR_ALL_HANDLES stands for all handles on which the call has a meaning.
int on_handles(MPI_T_pvar_session session, MPI_T_pvar_handle handle,
               int (*apply)(PerformanceHandle&)) {
  const Entry entry;
  if (entry.code != MPI_SUCCESS) return entry.code;
  PerformanceSession* const owner = session_of(session);
  if (owner == nullptr) return MPI_T_ERR_INVALID_SESSION;
  if (handle == MPI_T_PVAR_ALL_HANDLES) {
    for (PerformanceHandle* each : owner->handles) apply(*each);
    return MPI_SUCCESS;
  }
  PerformanceHandle* const found = in_session(*owner, handle);
  return found == nullptr ? MPI_T_ERR_INVALID_HANDLE : apply(*found);
}

}  // namespace

int t_pvar_get_num(int* num_pvar) {
  const Entry entry;
  if (entry.code != MPI_SUCCESS) return entry.code;
  if (num_pvar == nullptr) return MPI_T_ERR_INVALID;
  *num_pvar = static_cast<int>(variables().size());
  return MPI_SUCCESS;
}

int t_pvar_get_info(int pvar_index, char* name, int* name_len, int* verbosity, int* var_class,
                    MPI_Datatype* datatype, MPI_T_enum* enumtype, char* desc, int* desc_len,
                    int* bind, int* readonly, int* continuous, int* atomic) {
  const Entry entry;
  if (entry.code != MPI_SUCCESS) return entry.code;
  if (!is_index(pvar_index, variables().size())) return MPI_T_ERR_INVALID_INDEX;
  const PerformanceVariable& variable = variables()[static_cast<std::size_t>(pvar_index)];
  put_name(variable.name, name, name_len);
  put_name(variable.about, desc, desc_len);
  put(verbosity, MPI_T_VERBOSITY_USER_DETAIL);
  put(var_class, variable.variable_class);
  put(datatype, MPI_UNSIGNED_LONG_LONG);
  put(enumtype, MPI_T_ENUM_NULL);
  put(bind, MPI_T_BIND_NO_OBJECT);
  put(readonly, variable.counts() ? 0 : 1);
  put(continuous, variable.counts() ? 0 : 1);
  put(atomic, variable.counts() ? 1 : 0);
  return MPI_SUCCESS;
}

int t_pvar_get_index(const char* name, int var_class, int* pvar_index) {
  const Entry entry;
  if (entry.code != MPI_SUCCESS) return entry.code;
  if (name == nullptr || pvar_index == nullptr) return MPI_T_ERR_INVALID;
  for (std::size_t i = 0; i < variables().size(); ++i) {
    if (std::strcmp(variables()[i].name, name) != 0 || variables()[i].variable_class != var_class)
      continue;
    *pvar_index = static_cast<int>(i);
    return MPI_SUCCESS;
  }
  return MPI_T_ERR_INVALID_NAME;
}

int t_pvar_session_create(MPI_T_pvar_session* session) {
  const Entry entry;
  if (entry.code != MPI_SUCCESS) return entry.code;
  if (session == nullptr) return MPI_T_ERR_INVALID;
  auto* const made = new PerformanceSession;
  remember(made);
  *session = reinterpret_cast<MPI_T_pvar_session>(made);
  return MPI_SUCCESS;
}

int t_pvar_session_free(MPI_T_pvar_session* session) {
  const Entry entry;
  if (entry.code != MPI_SUCCESS) return entry.code;
  PerformanceSession* const found = session == nullptr ? nullptr : session_of(*session);
  if (found == nullptr) return MPI_T_ERR_INVALID_SESSION;
  for (const PerformanceHandle* each : found->handles) delete each;
  forget(found);
  delete found;
  *session = MPI_T_PVAR_SESSION_NULL;
  return MPI_SUCCESS;
}

int t_pvar_handle_alloc(MPI_T_pvar_session session, int pvar_index, void* /*obj_handle*/,
                        MPI_T_pvar_handle* handle, int* count) {
  const Entry entry;
  if (entry.code != MPI_SUCCESS) return entry.code;
  PerformanceSession* const owner = session_of(session);
  if (owner == nullptr) return MPI_T_ERR_INVALID_SESSION;
  if (!is_index(pvar_index, variables().size())) return MPI_T_ERR_INVALID_INDEX;
  if (handle == nullptr || count == nullptr) return MPI_T_ERR_INVALID;
  const PerformanceVariable& variable = variables()[static_cast<std::size_t>(pvar_index)];
  owner->handles.push_back(new PerformanceHandle{&variable, false, 0, 0});
  *handle = reinterpret_cast<MPI_T_pvar_handle>(owner->handles.back());
  *count = 1;
  return MPI_SUCCESS;
}

int t_pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle* handle) {
  const Entry entry;
  if (entry.code != MPI_SUCCESS) return entry.code;
  PerformanceSession* const owner = session_of(session);
  if (owner == nullptr) return MPI_T_ERR_INVALID_SESSION;
  PerformanceHandle* const found = handle == nullptr ? nullptr : in_session(*owner, *handle);
  if (found == nullptr) return MPI_T_ERR_INVALID_HANDLE;
  owner->handles.erase(std::find(owner->handles.begin(), owner->handles.end(), found));
  delete found;
  *handle = MPI_T_PVAR_HANDLE_NULL;
  return MPI_SUCCESS;
}

int t_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  return on_handles(session, handle, &start_one);
}
int t_pvar_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  return on_handles(session, handle, &stop_one);
}
int t_pvar_reset(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  return on_handles(session, handle, &reset_one);
}

int t_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* buf) {
  const Entry entry;
  if (entry.code != MPI_SUCCESS) return entry.code;
  PerformanceSession* const owner = session_of(session);
  if (owner == nullptr) return MPI_T_ERR_INVALID_SESSION;
  const PerformanceHandle* const found = in_session(*owner, handle);
  if (found == nullptr) return MPI_T_ERR_INVALID_HANDLE;
  if (buf == nullptr) return MPI_T_ERR_INVALID;
  *static_cast<unsigned long long*>(buf) = found->value();
  return MPI_SUCCESS;
}

int t_pvar_write(MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void* buf) {
  const Entry entry;
  if (entry.code != MPI_SUCCESS) return entry.code;
  PerformanceSession* const owner = session_of(session);
  if (owner == nullptr) return MPI_T_ERR_INVALID_SESSION;
  PerformanceHandle* const found = in_session(*owner, handle);
  if (found == nullptr) return MPI_T_ERR_INVALID_HANDLE;
  if (buf == nullptr) return MPI_T_ERR_INVALID;
  return write_one(*found, *static_cast<const unsigned long long*>(buf));
}

int t_pvar_readreset(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void* buf) {
  const Entry entry;
  if (entry.code != MPI_SUCCESS) return entry.code;
  const int code = t_pvar_read(session, handle, buf);
  if (code != MPI_SUCCESS) return code;
  PerformanceHandle& found = *reinterpret_cast<PerformanceHandle*>(handle);
  return found.variable->counts() ? reset_one(found) : MPI_T_ERR_PVAR_NO_ATOMIC;
}

}  // namespace tutti::mpi::body
