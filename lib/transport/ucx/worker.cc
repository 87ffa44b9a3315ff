// Opening UCX with network transports only: inside a host we have better.
#include "transport/ucx/worker.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstring>
#include <memory>

namespace tutti::transport::ucx {

Result<std::unique_ptr<Worker>> Worker::open(const UcpFunctions& library,
                                             const DeviceNames& devices, MemoryKinds wanted) {
  std::unique_ptr<Worker> worker(new Worker(library));
  TUTTI_DO(worker->start(devices, wanted));
  return worker;
}

Worker::~Worker() {
  if (worker_ != nullptr) library_.worker_destroy(worker_);
  if (context_ != nullptr) library_.cleanup(context_);
}

Result<void> Worker::start(const DeviceNames& devices, MemoryKinds wanted) {
  const auto failed = [this](const char* what, ucs_status_t status) {
    return fail(Code::other, std::string(what) + ": " + library_.text(status));
  };
  ucp_config_t* config = nullptr;
  ucs_status_t status = library_.config_read(nullptr, nullptr, &config);
  if (status != UCS_OK) return failed("ucp_config_read", status);
  // What the user chose for UCX stands.
  std::string transports = devices.rdma.empty() ? "tcp" : "ib,tcp";
  const bool wants_cuda = (wanted & kinds_of(MemoryKind::cuda)) != 0 && library_.has_cuda();
  if (wants_cuda) transports += ",cuda_copy";
  if (!is_set_by_user("UCX_TLS")) library_.config_modify(config, "TLS", transports.c_str());
  if (!devices.all.empty() && !is_set_by_user("UCX_NET_DEVICES"))
    library_.config_modify(config, "NET_DEVICES", devices.all.c_str());

  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  status = library_.init_version(UCP_API_MAJOR, UCP_API_MINOR, &params, config, &context_);
  library_.config_release(config);
  if (status != UCS_OK) return failed("ucp_init", status);

  ucp_worker_params_t worker{};
  worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  worker.thread_mode = UCS_THREAD_MODE_SERIALIZED;  // the gate serializes
  status = library_.worker_create(context_, &worker, &worker_);
  if (status != UCS_OK) return failed("ucp_worker_create", status);
  TUTTI_DO(learn_kinds(wanted));
  return open_descriptors();
}

Result<void> Worker::learn_kinds(MemoryKinds wanted) {
  ucp_context_attr_t attributes{};
  attributes.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES;
  const ucs_status_t status = library_.context_query(context_, &attributes);
  if (status != UCS_OK) return fail(Code::other, "ucp_context_query: " + library_.text(status));
  const bool has_cuda = (attributes.memory_types & UCS_BIT(UCS_MEMORY_TYPE_CUDA)) != 0;
  if (has_cuda) kinds_ |= wanted & kinds_of(MemoryKind::cuda);
  return {};
}

Result<void> Worker::open_descriptors() {
  int events = -1;
  const ucs_status_t status = library_.worker_get_efd(worker_, &events);
  if (status != UCS_OK) return fail(Code::other, "ucp_worker_get_efd: " + library_.text(status));
  epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  kick_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  epoll_event event{};
  event.events = EPOLLIN;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, events, &event) != 0 ||
      ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, kick_.get(), &event) != 0)
    return fail(Code::other, std::string("descriptors for waiting: ") + std::strerror(errno));
  return {};
}

Result<Blob> Worker::address() const {
  ucp_address_t* address = nullptr;
  std::size_t bytes = 0;
  const ucs_status_t status = library_.worker_get_address(worker_, &address, &bytes);
  if (status != UCS_OK)
    return fail(Code::other, "ucp_worker_get_address: " + library_.text(status));
  Blob blob(bytes);
  std::memcpy(blob.data(), address, bytes);
  library_.worker_release_address(worker_, address);
  return blob;
}

bool Worker::arm() {
  if (library_.worker_arm(worker_) == UCS_OK) return true;
  const std::uint64_t one = 1;
  is_kicked_ = ::write(kick_.get(), &one, sizeof one) == sizeof one;
  return false;
}

void Worker::calm() {
  if (!is_kicked_) return;
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = ::read(kick_.get(), &count, sizeof count);
  is_kicked_ = false;
}

}  // namespace tutti::transport::ucx
