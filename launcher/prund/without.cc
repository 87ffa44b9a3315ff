// What a static daemon does without. hwloc's static library asks udev for details of disks, and
// opens plugins for GPUs and the like; a machine description for ranks needs neither. libudev has
// no static form, and a static program cannot open shared libraries reliably.
#include <dlfcn.h>

extern "C" {
void* udev_new();
void* udev_unref(void* udev);
void* udev_device_new_from_subsystem_sysname(void* udev, const char* subsystem, const char* name);
const char* udev_device_get_property_value(void* device, const char* key);
void* udev_device_unref(void* device);

void* udev_new() {
  return nullptr;
}
void* udev_unref(void*) {
  return nullptr;
}
void* udev_device_new_from_subsystem_sysname(void*, const char*, const char*) {
  return nullptr;
}
const char* udev_device_get_property_value(void*, const char*) {
  return nullptr;
}
void* udev_device_unref(void*) {
  return nullptr;
}

void* dlopen(const char*, int) noexcept {
  return nullptr;
}
int dlclose(void*) noexcept {
  return 0;
}
}
