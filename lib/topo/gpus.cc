// /proc/driver/nvidia, /dev and /sys/module, read.
#include "topo/gpus.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "base/file.h"
#include "base/text.h"

namespace tutti::topo {
namespace {

// "535.104.05" of "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug ...".
std::string version_in(const std::string& line) {
  for (const std::string& word : text::split(line, ' '))
    if (word.find('.') != std::string::npos &&
        word.find_first_not_of("0123456789.") == std::string::npos)
      return word;
  return "";
}

// "Model: \t\t NVIDIA H200" -> the value of a line.
std::string value_of(const std::string& text, std::string_view key) {
  for (const std::string& line : text::split(text, '\n'))
    if (line.starts_with(key) && line.size() > key.size() && line[key.size()] == ':')
      return std::string(text::trim(line.substr(key.size() + 1)));
  return "";
}

DriverGpu gpu_at(const std::string& root, const std::string& bus) {
  const std::string text =
      file_text(root + "/proc/driver/nvidia/gpus/" + bus + "/information").value_or("");
  DriverGpu gpu;
  gpu.bus = bus;
  gpu.model = value_of(text, "Model");
  gpu.uuid = value_of(text, "GPU UUID");
  if (const auto node = text::parse_int(value_of(text, "Device Minor")); node && *node < 1 << 20)
    gpu.node = static_cast<int>(*node);
  // access() asks the control group of the process, too.
  gpu.usable = gpu.node < 0 || ::access((root + "/dev/nvidia" + std::to_string(gpu.node)).c_str(),
                                        R_OK | W_OK) == 0;
  return gpu;
}

bool is_loaded(const std::string& root, const char* module) {
  return ::access((root + "/sys/module/" + module).c_str(), F_OK) == 0;
}

}  // namespace

GpuDriver nvidia_driver(const std::string& root) {
  GpuDriver driver;
  const std::string told = file_text(root + "/proc/driver/nvidia/version").value_or("");
  driver.version = version_in(told.substr(0, told.find('\n')));
  driver.is_open = told.find("Open Kernel Module") != std::string::npos;
  driver.reads_gpus_dma =
      driver.is_open || is_loaded(root, "nvidia_peermem") || is_loaded(root, "nv_peer_mem");
  std::vector<std::string> buses = names_in(root + "/proc/driver/nvidia/gpus");
  std::sort(buses.begin(), buses.end());
  for (const std::string& bus : buses) driver.gpus.push_back(gpu_at(root, bus));
  return driver;
}

std::vector<int> visible_gpus(const std::string& visible, const std::vector<DriverGpu>& gpus) {
  std::vector<int> kept;
  const auto count = static_cast<int>(gpus.size());
  if (visible.empty()) {
    for (int i = 0; i < count; ++i) kept.push_back(i);
    return kept;
  }
  for (const std::string& entry : text::split(visible, ',')) {
    const std::string word(text::trim(entry));
    int found = -1;
    if (const auto number = text::parse_int(word)) {
      if (*number >= 0 && *number < count) found = static_cast<int>(*number);
    } else {
      for (int i = 0; i < count && !word.empty(); ++i)
        if (gpus[static_cast<std::size_t>(i)].uuid.starts_with(word)) found = i;
    }
    if (found < 0) break;
    kept.push_back(found);
  }
  return kept;
}

bool hides_all_gpus(std::string_view visible) {
  const std::string_view first = text::trim(visible.substr(0, visible.find(',')));
  const auto number = text::parse_int(first);
  return number ? *number < 0 : !first.starts_with("GPU-") && !first.starts_with("MIG-");
}

void keep_usable_gpus(Machine& machine, const GpuDriver& driver,
                      const std::optional<std::string>& visible) {
  machine.visible_gpus = visible.value_or("");
  machine.hides_gpus = visible && hides_all_gpus(*visible);
  std::vector<DriverGpu> usable;
  std::copy_if(driver.gpus.begin(), driver.gpus.end(), std::back_inserter(usable),
               [](const DriverGpu& gpu) { return gpu.usable; });
  const auto device_of = [&](const DriverGpu& gpu) {
    return std::find_if(
        machine.devices.begin(), machine.devices.end(), [&](const PciDevice& device) {
          return device.kind == PciDevice::Kind::gpu && device.names.back() == gpu.bus;
        });
  };
  std::vector<PciDevice> kept;
  for (const int number : visible_gpus(machine.visible_gpus, usable)) {
    const auto device = device_of(usable[static_cast<std::size_t>(number)]);
    if (device == machine.devices.end()) return;
    kept.push_back(*device);
  }
  if (kept.empty()) return;
  std::copy_if(machine.devices.begin(), machine.devices.end(), std::back_inserter(kept),
               [](const PciDevice& device) { return device.kind != PciDevice::Kind::gpu; });
  machine.devices = std::move(kept);
}

}  // namespace tutti::topo
