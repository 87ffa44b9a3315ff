// What this machine and its tools tell in text: ssh and a host's login shell, a key file, Slurm's
// scontrol, control groups, the GPUs' kernel driver. Whatever they say, a person reads one line.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>

#include "base/file.h"
#include "base/unique_fd.h"
#include "catch.h"
#include "mutate.h"
#include "secure/secure.h"
#include "spawn/slurm.h"
#include "spawn/ssh_words.h"
#include "topo/gpus.h"
#include "topo/quota.h"

using namespace tutti;                 // NOLINT(google-build-using-namespace): a test of
using namespace tutti::launch::spawn;  // NOLINT(google-build-using-namespace): these rooms

namespace {

void is_one_line(const std::string& text) {
  constexpr std::size_t kLongest = 2000;
  CHECK_FALSE(text.empty());
  CHECK(text.find('\n') == std::string::npos);
  CHECK(text.size() < kLongest);
}

void ssh_tells(fuzz::Random& random) {
  static const std::vector<std::string> kSaid{
      "@@@@@@@@\n@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\n@@@@@@@@\n",
      "Warning: Permanently added 'b' (ED25519) to the list of known hosts.\r\n",
      "b: Permission denied (publickey,password).\r\n",
      "ssh: connect to host b port 22: Connection refused\n",
      "kex_exchange_identification: read: Connection reset by peer\n",
      "Connection closed by 10.0.0.1 port 22\n",
      "TUTTI machine aarch64\n",
      "TUTTI failed\n",
      "TUTTI foreign /home/u/.cache/tutti\n",
      "Welcome to b.\n\n",
      std::string(3000, 'x')};
  static constexpr int kEnds[] = {0, 1 << 8, 255 << 8, SIGKILL, SIGSEGV | 0x80};
  const auto some = [&random] {
    std::string text;
    for (std::size_t lines = random.below(4); lines > 0; --lines)
      text += fuzz::mutate(random, kSaid, " \n\r\t%@:TUI\x1b");
    return text;
  };
  const std::string words = some(), noise = some();
  INFO("said: " << words << "\nnoise: " << noise);
  const Diagnosis why = diagnose("b", "ssh", kEnds[random.below(std::size(kEnds))], words, noise);
  CHECK((why.status > 0 && why.status < 256));
  is_one_line(why.reason);
}

void key_file_tells(fuzz::Random& random) {
  static const std::vector<std::string> kKeys{"0123456789abcdef\n",
                                              "",
                                              "short\n",
                                              std::string(4095, 'k'),
                                              std::string(5000, 'k'),
                                              std::string(20, '\0'),
                                              "  spaces within a key  \r\n"};
  const std::string bytes = fuzz::mutate(random, kKeys, " \n\r\tk");
  const UniqueFd file(::memfd_create("fuzz", MFD_CLOEXEC));
  REQUIRE(::write(file.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  REQUIRE(::fchmod(file.get(), random.below(8) == 0 ? 0666 : 0600) == 0);
  const auto key = secure::read_key_file("/proc/self/fd/" + std::to_string(file.get()));
  if (!key) return is_one_line(key.error().text);
  REQUIRE(key->has_value());
  CHECK((**key).size() >= secure::kLeastKeyBytes);
  CHECK(bytes.find(**key) != std::string::npos);
}

void slurm_tells(fuzz::Random& random) {
  static const std::vector<std::string> kShown{
      "   Nodes=n[1-2] CPU_IDs=0-3 Mem=0 GRES=gpu:2(IDX:0-1)\n",
      "   Nodes=n3 CPU_IDs=0 Mem=0 GRES=gpu:a100:1(IDX:0),nic:1(CNT:1)\n",
      "JobId=7 JobName=x\n   NumNodes=2 Nodes=n[0-99]\n"};
  std::string shown;
  for (std::size_t lines = random.below(4); lines > 0; --lines)
    shown += fuzz::mutate(random, kShown, "[](),-=: \n0gn");
  INFO(shown);
  for (const auto& [host, resources] : resources_by_host(shown)) CHECK_FALSE(resources.empty());
}

void kernel_tells(fuzz::Random& random) {
  static const std::vector<std::string> kFiles{"0::/a/b\n",
                                               "4:cpu,cpuacct:/docker/x\n1:memory:/y\n",
                                               "max 100000\n",
                                               "50000 100000\n",
                                               "9223372036854771712\n",
                                               "MemTotal: 100 kB\nMemAvailable:  4000 kB\n",
                                               "inf nan -1 1e400\n"};
  const topo::ReadText read = [&random](const std::string&) -> std::optional<std::string> {
    if (random.below(4) == 0) return std::nullopt;
    return fuzz::mutate(random, kFiles, "/:,. \n01e-");
  };
  const double cores = topo::cpu_quota(read);
  CHECK((std::isfinite(cores) && cores >= 0));
  CHECK(topo::memory_left(read) < (std::uint64_t{1} << 63));
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// A folder in the place of "/", as the driver's files lie in it.
class DriverFiles {
 public:
  DriverFiles() {
    REQUIRE(::mkdtemp(root_.data()) != nullptr);
    std::filesystem::create_directories(gpus() + "0000:17:00.0");
    std::filesystem::create_directories(gpus() + "0000:65:00.0");
  }
  ~DriverFiles() { remove_folder(root_); }
  DriverFiles(const DriverFiles&) = delete;
  DriverFiles& operator=(const DriverFiles&) = delete;

  std::string gpus() const { return root_ + "/proc/driver/nvidia/gpus/"; }
  const std::string& root() const { return root_; }

 private:
  std::string root_ = "/tmp/told-fuzz-XXXXXX";
};

void gpus_tell(fuzz::Random& random, const DriverFiles& files) {
  static const std::vector<std::string> kTold{
      "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  535.104.05  Sat Aug 19\n",
      "Model: \t\t NVIDIA H200\n", "GPU UUID: \t GPU-1c2d\n", "Device Minor: \t 0\n",
      "Device Minor: \t 4294967295\n"};
  static const std::vector<std::string> kVisible{"0,1", "GPU-1c2d", "1",
                                                 "",    "-1",       "0,0,99999999999"};
  const auto some = [&random] {
    return fuzz::mutate(random, kTold, ":. \t\n0G") + fuzz::mutate(random, kTold, ":. \t\n0G");
  };
  write_file(files.root() + "/proc/driver/nvidia/version", some());
  for (const char* bus : {"0000:17:00.0", "0000:65:00.0"})
    write_file(files.gpus() + bus + "/information", some());
  const topo::GpuDriver driver = topo::nvidia_driver(files.root());
  REQUIRE(driver.gpus.size() == 2);
  topo::Machine machine;
  for (const topo::DriverGpu& gpu : driver.gpus) {
    CHECK(gpu.model.find('\n') == std::string::npos);
    machine.devices.emplace_back();
    machine.devices.back().kind = topo::PciDevice::Kind::gpu;
    machine.devices.back().names = {gpu.bus};
  }
  const std::string visible = fuzz::mutate(random, kVisible, ",-0G ");
  INFO(visible);
  for (const int one : topo::visible_gpus(visible, driver.gpus)) CHECK((one == 0 || one == 1));
  topo::keep_usable_gpus(machine, driver, visible);
}

}  // namespace

TEST_CASE("what a machine and its tools tell is read, or said to be unreadable", "[fuzz][told]") {
  const DriverFiles files;
  fuzz::Rounds rounds("told", 2000);
  while (rounds.more()) {
    fuzz::Random random(rounds.number() + 7000000);
    INFO("round " << rounds.number());
    ssh_tells(random);
    key_file_tells(random);
    slurm_tells(random);
    kernel_tells(random);
    if (rounds.number() % 16 == 0) gpus_tell(random, files);
  }
}
