// counted: what passed through the stand-in driver so far, in this process. A real one does not
// count: what rests on that is not asked then.
#pragma once

// Null where the driver is a real one.
extern "C" [[gnu::weak]] unsigned long long tutti_standin_count(const char* what);

namespace gpu {

inline bool is_driver_counted() {
  return &tutti_standin_count != nullptr;
}
inline unsigned long long counted(const char* what) {
  return is_driver_counted() ? tutti_standin_count(what) : 0;
}
// Bytes of copies between devices and the host, and those that kernels moved to and from pinned
// memory.
inline unsigned long long through_host() {
  return counted("to_host") + counted("from_host") + counted("pinned");
}

}  // namespace gpu
