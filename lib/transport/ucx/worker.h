// worker: one UCP context and worker, opened and closed as one thing.
#pragma once

#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/unique_fd.h"
#include "transport/ucx/devices.h"
#include "transport/ucx/library.h"

namespace tutti::transport::ucx {

class Worker {
 public:
  // `wanted`: kinds of memory that it is to move, where it can.
  static Result<std::unique_ptr<Worker>> open(const UcpFunctions& library,
                                              const DeviceNames& devices, MemoryKinds wanted);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  const UcpFunctions& library() const { return library_; }
  ucp_worker_h get() const { return worker_; }
  Result<Blob> address() const;
  MemoryKinds kinds() const { return kinds_; }
  bool progress() { return library_.worker_progress(worker_) != 0; }

  // The descriptor to sleep on. arm() must come first: false means that events came meanwhile,
  // and then the descriptor is readable until the next calm().
  int wait_fd() const { return epoll_.get(); }
  bool arm();
  void calm();

 private:
  explicit Worker(const UcpFunctions& library) : library_(library) {}
  Result<void> start(const DeviceNames& devices, MemoryKinds wanted);
  Result<void> learn_kinds(MemoryKinds wanted);
  Result<void> open_descriptors();

  UcpFunctions library_;
  MemoryKinds kinds_ = kinds_of(MemoryKind::host);
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  UniqueFd epoll_;
  UniqueFd kick_;  // made readable by us when UCX could not be armed
  bool is_kicked_ = false;
};

}  // namespace tutti::transport::ucx
