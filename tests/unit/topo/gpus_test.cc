// GPUs by their driver's files, on an invented tree; what CUDA_VISIBLE_DEVICES leaves of them.
#include "topo/gpus.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "catch.h"

using namespace tutti;  // NOLINT(google-build-using-namespace): a test of one namespace

namespace {

// A root folder that is gone with it.
class Tree {
 public:
  Tree() {
    std::string name = (std::filesystem::temp_directory_path() / "tutti-gpus-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    root_ = name;
  }
  ~Tree() { std::filesystem::remove_all(root_); }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  void add_gpu(const std::string& bus, int node, bool has_node = true) const {
    write("/proc/driver/nvidia/gpus/" + bus + "/information",
          "Model: \t\t NVIDIA H200\nIRQ:   \t\t 123\nGPU UUID: \t GPU-" + std::to_string(node) +
              "abc-1\nBus Location: \t " + bus + "\nDevice Minor: \t " + std::to_string(node) +
              "\n");
    if (has_node) write("/dev/nvidia" + std::to_string(node), "");
  }
  const std::string& root() const { return root_; }

 private:
  std::string root_;
};

topo::Machine machine_with(const std::vector<std::string>& buses) {
  topo::Machine machine;
  for (const std::string& bus : buses)
    machine.devices.push_back({topo::PciDevice::Kind::gpu, {"card0", bus}, {}});
  machine.devices.push_back({topo::PciDevice::Kind::nic, {"eth0", "0000:01:00.0"}, {}});
  return machine;
}

std::vector<std::string> buses_of(const topo::Machine& machine) {
  std::vector<std::string> buses;
  for (const topo::PciDevice& device : machine.devices) buses.push_back(device.names.back());
  return buses;
}

}  // namespace

TEST_CASE("without a driver there is no GPU and no version", "[topo][gpus]") {
  const Tree tree;
  const topo::GpuDriver driver = topo::nvidia_driver(tree.root());
  CHECK(driver.version.empty());
  CHECK(driver.gpus.empty());
  CHECK_FALSE(driver.reads_gpus_dma);
}

TEST_CASE("the driver's files tell version, models and which may be used", "[topo][gpus]") {
  const Tree tree;
  tree.write("/proc/driver/nvidia/version",
             "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC "
             "2023\nGCC version:  gcc version 12.2.0\n");
  tree.add_gpu("0000:85:00.0", 0);
  tree.add_gpu("0000:17:00.0", 1);
  tree.add_gpu("0000:c1:00.0", 2, false);
  const topo::GpuDriver driver = topo::nvidia_driver(tree.root());
  CHECK(driver.version == "535.104.05");
  CHECK_FALSE(driver.is_open);
  CHECK_FALSE(driver.reads_gpus_dma);
  REQUIRE(driver.gpus.size() == 3);
  CHECK(driver.gpus[0].bus == "0000:17:00.0");
  CHECK(driver.gpus[0].node == 1);
  CHECK(driver.gpus[0].model == "NVIDIA H200");
  CHECK(driver.gpus[0].uuid == "GPU-1abc-1");
  CHECK(driver.gpus[1].usable);
  CHECK_FALSE(driver.gpus[2].usable);
  tree.write("/sys/module/nvidia_peermem/version", "1");
  CHECK(topo::nvidia_driver(tree.root()).reads_gpus_dma);
}

TEST_CASE("the open kernel modules say so, and read GPUs' memory by dma-buf", "[topo][gpus]") {
  const Tree tree;
  tree.write("/proc/driver/nvidia/version",
             "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build\n");
  const topo::GpuDriver driver = topo::nvidia_driver(tree.root());
  CHECK(driver.version == "570.86.15");
  CHECK((driver.is_open && driver.reads_gpus_dma));
}

TEST_CASE("CUDA_VISIBLE_DEVICES is read as CUDA reads it", "[topo][gpus]") {
  std::vector<topo::DriverGpu> gpus(4);
  for (std::size_t i = 0; i < gpus.size(); ++i) gpus[i].uuid = "GPU-" + std::to_string(i) + "abc";
  using All = std::vector<int>;
  CHECK(topo::visible_gpus("", gpus) == All{0, 1, 2, 3});
  CHECK(topo::visible_gpus("2,0", gpus) == All{2, 0});
  CHECK(topo::visible_gpus("3,-1,0", gpus) == All{3});
  CHECK(topo::visible_gpus("1,4,0", gpus) == All{1});
  CHECK(topo::visible_gpus("GPU-2a,GPU-0abc", gpus) == All{2, 0});
  CHECK(topo::visible_gpus("NoDevFiles", gpus).empty());
  CHECK(topo::visible_gpus("99999999999999999999", gpus).empty());
}

TEST_CASE("a machine keeps the GPUs that its programs see, in their order", "[topo][gpus]") {
  const std::vector<std::string> buses{"0000:17:00.0", "0000:41:00.0", "0000:85:00.0"};
  topo::GpuDriver driver;
  for (const std::string& bus : buses) driver.gpus.push_back({bus, "", "", -1, true});
  topo::Machine machine = machine_with(buses);
  topo::keep_usable_gpus(machine, driver, "2,1");
  CHECK(buses_of(machine) == std::vector{buses[2], buses[1], std::string("0000:01:00.0")});

  driver.gpus[0].usable = false;  // numbers count from the first one that may be used
  machine = machine_with(buses);
  topo::keep_usable_gpus(machine, driver, "1");
  CHECK(buses_of(machine) == std::vector{buses[2], std::string("0000:01:00.0")});

  machine = machine_with({"0000:99:00.0"});  // not those the driver knows
  topo::keep_usable_gpus(machine, driver, std::nullopt);
  CHECK((machine.devices.size() == 2 && !machine.hides_gpus));
  machine = machine_with(buses);
  topo::keep_usable_gpus(machine, {}, "1");
  CHECK(machine.devices.size() == 4);
  topo::keep_usable_gpus(machine, driver, "");
  CHECK((machine.devices.size() == 3 && machine.hides_gpus));
  for (const char* none : {"-1", "-1,0", " -2", "NoDevFiles"}) {
    topo::keep_usable_gpus(machine, driver, none);
    CHECK(machine.hides_gpus);
  }
  for (const char* unknown : {"MIG-1234,MIG-5678", "GPU-1234", "0,-1", "7"}) {
    topo::keep_usable_gpus(machine, driver, unknown);
    CHECK(!machine.hides_gpus);
  }
}
