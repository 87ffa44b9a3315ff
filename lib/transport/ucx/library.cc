// dlopen of libucp.
#include "transport/ucx/library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>

namespace tutti::transport::ucx {
namespace {

constexpr unsigned kOldestMinor = 12;  // of version 1: active messages as we use them

// Sets a variable for the lifetime of this object, unless the user has set it.
class Setting {
 public:
  Setting(const char* name, const char* value) : name_(name), own_(::getenv(name) == nullptr) {
    if (own_) ::setenv(name, value, 0);
  }
  Setting(const Setting&) = delete;
  Setting& operator=(const Setting&) = delete;
  ~Setting() {
    if (own_) ::unsetenv(name_);
  }

 private:
  const char* name_;
  bool own_;
};

template <class Function>
bool load(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(handle, name));
  return function != nullptr;
}

bool load_all(void* at, UcpFunctions& all) {
  return load(at, "ucp_get_version", all.get_version) &&
         load(at, "ucp_init_version", all.init_version) && load(at, "ucp_cleanup", all.cleanup) &&
         load(at, "ucp_context_query", all.context_query) &&
         load(at, "ucp_config_read", all.config_read) &&
         load(at, "ucp_config_modify", all.config_modify) &&
         load(at, "ucp_config_release", all.config_release) &&
         load(at, "ucp_worker_create", all.worker_create) &&
         load(at, "ucp_worker_destroy", all.worker_destroy) &&
         load(at, "ucp_worker_get_address", all.worker_get_address) &&
         load(at, "ucp_worker_release_address", all.worker_release_address) &&
         load(at, "ucp_worker_progress", all.worker_progress) &&
         load(at, "ucp_worker_get_efd", all.worker_get_efd) &&
         load(at, "ucp_worker_arm", all.worker_arm) &&
         load(at, "ucp_worker_set_am_recv_handler", all.set_am_recv_handler) &&
         load(at, "ucp_ep_create", all.ep_create) &&
         load(at, "ucp_ep_close_nbx", all.ep_close_nbx) &&
         load(at, "ucp_am_send_nbx", all.am_send_nbx) &&
         load(at, "ucp_am_recv_data_nbx", all.am_recv_data_nbx) &&
         load(at, "ucp_request_free", all.request_free) &&
         load(at, "ucp_request_check_status", all.request_check_status) &&
         load(at, "ucs_status_string", all.status_string);
}

}  // namespace

Result<UcpFunctions> UcpFunctions::open() {
  const Setting no_handlers("UCX_HANDLE_ERRORS", "none");
  const Setting no_warnings("UCX_WARN_UNUSED_ENV_VARS", "n");
  void* const handle = ::dlopen("libucp.so.0", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return fail(Code::other, "libucp.so.0 not found");
  UcpFunctions all;
  if (!load_all(handle, all)) return fail(Code::other, "libucp.so.0 lacks functions: too old");
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  all.get_version(&major, &minor, &release);
  if (major != 1 || minor < kOldestMinor)
    return fail(Code::other, "UCX " + std::to_string(major) + "." + std::to_string(minor) +
                                 " is older than 1." + std::to_string(kOldestMinor));
  return all;
}

// UCX looks for its modules there, and complains of transports that it was told and has not.
bool UcpFunctions::has_cuda() const {
  const char* const named = ::getenv("UCX_MODULE_DIR");
  std::string folder = named == nullptr ? "" : named;
  Dl_info place{};
  if (folder.empty() && ::dladdr(reinterpret_cast<void*>(status_string), &place) != 0) {
    folder = place.dli_fname;
    folder = folder.substr(0, folder.rfind('/')) + "/ucx";
  }
  void* const driver = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (driver == nullptr) return false;
  ::dlclose(driver);
  return ::access((folder + "/libuct_cuda.so.0").c_str(), R_OK) == 0;
}

bool is_set_by_user(const char* ucx_variable) {
  return ::getenv(ucx_variable) != nullptr;
}

}  // namespace tutti::transport::ucx
