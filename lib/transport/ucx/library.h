// library: libucp, opened at run time, as a table of the functions we call.
//
// Never linked: a machine without UCX runs the same binary, and UCX takes over signal handlers
// when it is loaded unless UCX_HANDLE_ERRORS says "none" at that moment.
#pragma once

#include <ucp/api/ucp.h>

#include <string>

#include "base/memory.h"
#include "base/result.h"

namespace tutti::transport::ucx {

inline ucs_memory_type_t type_of(MemoryKind kind) {
  return kind == MemoryKind::cuda ? UCS_MEMORY_TYPE_CUDA : UCS_MEMORY_TYPE_HOST;
}

struct UcpFunctions {
  decltype(&::ucp_get_version) get_version = nullptr;
  decltype(&::ucp_init_version) init_version = nullptr;
  decltype(&::ucp_cleanup) cleanup = nullptr;
  decltype(&::ucp_context_query) context_query = nullptr;
  decltype(&::ucp_config_read) config_read = nullptr;
  decltype(&::ucp_config_modify) config_modify = nullptr;
  decltype(&::ucp_config_release) config_release = nullptr;
  decltype(&::ucp_worker_create) worker_create = nullptr;
  decltype(&::ucp_worker_destroy) worker_destroy = nullptr;
  decltype(&::ucp_worker_get_address) worker_get_address = nullptr;
  decltype(&::ucp_worker_release_address) worker_release_address = nullptr;
  decltype(&::ucp_worker_progress) worker_progress = nullptr;
  decltype(&::ucp_worker_get_efd) worker_get_efd = nullptr;
  decltype(&::ucp_worker_arm) worker_arm = nullptr;
  decltype(&::ucp_worker_set_am_recv_handler) set_am_recv_handler = nullptr;
  decltype(&::ucp_ep_create) ep_create = nullptr;
  decltype(&::ucp_ep_close_nbx) ep_close_nbx = nullptr;
  decltype(&::ucp_am_send_nbx) am_send_nbx = nullptr;
  decltype(&::ucp_am_recv_data_nbx) am_recv_data_nbx = nullptr;
  decltype(&::ucp_request_free) request_free = nullptr;
  decltype(&::ucp_request_check_status) request_check_status = nullptr;
  decltype(&::ucs_status_string) status_string = nullptr;

  std::string text(ucs_status_t status) const { return status_string(status); }

  // Whether it was built for CUDA, so that its module lies beside it, and the program uses CUDA.
  bool has_cuda() const;

  // Errors: not installed, too old, or lacking a function. Never unloaded again: UCX leaves
  // threads and handlers behind.
  static Result<UcpFunctions> open();
};

// Whether one of UCX's own variables is set: what a user chose for UCX stands.
bool is_set_by_user(const char* ucx_variable);

}  // namespace tutti::transport::ucx
