// tutti-info: what this build has and what this machine offers, a line each.
//
//   tutti-info              build, machine, algorithms
//   tutti-info --knobs      every variable, its default and what it is for
//   tutti-info --gpus       what the libraries of GPUs say, for prun --check: "NAME: text"
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>

#include "base/knobs.h"
#include "base/text.h"
#include "coll/coll.h"
#include "topo/gpu_libraries.h"
#include "topo/gpus.h"
#include "topo/topo.h"

namespace {

constexpr const char* kUsage =
    "usage: tutti-info [--knobs | --gpus]\n"
    "\n"
    "  (nothing)  this build, what this machine offers, and the algorithms of each collective\n"
    "  --knobs    every variable TUTTI_*, its unit, its default and what it is for\n"
    "  --gpus     what the libraries of GPUs say\n";

void line(const char* what, const std::string& value) {
  std::printf("%-22s %s\n", what, value.c_str());
}

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string text;
  std::getline(file, text);
  return text.empty() ? "unknown" : text;
}

void build() {
  line("Tutti", TUTTI_VERSION);
  line("MPI", "5.0, standard ABI 1.0 (libmpi_abi.so.1)");
  line("compiler", TUTTI_COMPILER);
  line("build type", TUTTI_BUILD_TYPE);
  line("argument checks", TUTTI_CHECKS_BUILT);
  line("links", TUTTI_LINKS);
  line("GPU memory", TUTTI_GPUS);
}

template <class Line>
void gpu_libraries(Line line) {
  const tutti::topo::GpuLibraries said = tutti::topo::ask_gpu_libraries();
  line("CUDA", said.cuda);
  if (!said.peers.empty()) line("GPU peers", said.peers);
  line("NCCL", said.nccl);
}

void gpus() {
  const tutti::topo::GpuDriver driver = tutti::topo::nvidia_driver();
  line("GPU driver", driver.version.empty() ? "none (NVIDIA's is not loaded)" : driver.version);
  for (const tutti::topo::DriverGpu& gpu : driver.gpus)
    line("GPU", gpu.model + " at " + gpu.bus + (gpu.usable ? "" : ", which may not be opened"));
  if (!driver.gpus.empty())
    line("GPUDirect", driver.reads_gpus_dma ? "network cards may read GPU memory"
                                            : "no (nvidia_peermem is not loaded)");
  gpu_libraries(line);
}

void machine() {
  utsname system{};
  if (::uname(&system) == 0)
    line("system", std::string(system.sysname) + " " + system.release + " " + system.machine);
  const auto found = tutti::topo::read_this_machine();
  if (!found) {
    line("processors", "unknown: " + found.error().text);
  } else {
    line("processors", std::to_string(found->cores) + " cores, " +
                           std::to_string(found->threads.size()) + " hardware threads allowed, " +
                           std::to_string(found->usable_cores()) + " usable at once");
  }
  line("transparent pages", first_line("/sys/kernel/mm/transparent_hugepage/enabled"));
  line("single copy (ptrace)", "ptrace_scope " + first_line("/proc/sys/kernel/yama/ptrace_scope"));
  line("user namespaces",
       "at most " + first_line("/proc/sys/user/max_user_namespaces") + " (virtual hosts)");
  gpus();
  line("RDMA devices", ::access("/sys/class/infiniband", F_OK) == 0 ? "present" : "none");
}

void algorithms() {
  std::string names;
  const tutti::coll::Algorithm* last = nullptr;
  for (const tutti::coll::Algorithm& entry : tutti::coll::catalogue()) {
    if (last != nullptr && last->collective != entry.collective) {
      line(std::string(tutti::coll::name_of(last->collective)).c_str(), names);
      names.clear();
    }
    names += (names.empty() ? "" : ", ") + std::string(entry.name);
    last = &entry;
  }
  if (last != nullptr) line(std::string(tutti::coll::name_of(last->collective)).c_str(), names);
}

void knobs() {
  for (const tutti::KnobRow& row : tutti::Knobs::rows())
    std::printf("%-24s %-6s %-8s %s\n", row.name, row.unit,
                *row.fallback == '\0' ? "-" : row.fallback, row.why);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc == 2 ? argv[1] : "";
  if (argc == 1) {
    build();
    machine();
    algorithms();
  } else if (what == "--knobs") {
    knobs();
  } else if (what == "--gpus") {
    gpu_libraries([](const char* name, const std::string& value) {
      std::printf("%s: %s\n", name, value.c_str());
    });
  } else {
    const bool is_asked = what == "--help" || what == "-h";
    std::fputs(kUsage, is_asked ? stdout : stderr);
    return is_asked ? 0 : 2;
  }
  return 0;
}
