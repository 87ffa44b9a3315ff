// Which of prun's variables go along to hosts that are reached by network: all of them, or those of
// the launcher by whose name it was called; never what a host has its own of.
#include "job/travel.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace tutti::launch::job {
namespace {

using Names = std::span<const std::string_view>;

// Of the host and its login.
constexpr std::array<std::string_view, 18> kHostsOwn{
    "HOME",  "HOST", "HOSTNAME", "HOSTTYPE", "LOGNAME", "MAIL", "OLDPWD", "PWD", "SHELL",
    "SHLVL", "TMP",  "TEMP",     "TEMPDIR",  "TMPDIR",  "USER", "TTY",    "_",   "DISPLAY"};
constexpr std::array<std::string_view, 9> kHostsOwnPrefixes{
    "SSH_", "XDG_", "XAUTH", "DBUS_", "WAYLAND_", "SLURMD_", "SLURM_STEP", "SYSTEMD_", "TUTTI_"};

// The host's own, too, where its GPUs are shared out: they are numbered by it.
constexpr std::array<std::string_view, 2> kVisibleGpus{"CUDA_VISIBLE_DEVICES",
                                                       "ROCR_VISIBLE_DEVICES"};

// What Open MPI's mpirun sends, and what a Python of a virtual environment needs.
constexpr std::array<std::string_view, 1> kOpenMpisPrefixes{"OMPI_"};
constexpr std::array<std::string_view, 5> kTorchs{"PATH", "LD_LIBRARY_PATH", "VIRTUAL_ENV",
                                                  "CUDA_HOME", "OMP_NUM_THREADS"};
constexpr std::array<std::string_view, 5> kTorchsPrefixes{"PYTHON", "CONDA_", "TORCH_", "NCCL_",
                                                          "GLOO_"};

bool is_among(std::string_view name, Names names, Names prefixes) {
  return std::find(names.begin(), names.end(), name) != names.end() ||
         std::any_of(prefixes.begin(), prefixes.end(),
                     [name](std::string_view prefix) { return name.starts_with(prefix); });
}

bool travels(const cli::JobSpec& spec, std::string_view name) {
  if (is_among(name, kHostsOwn, kHostsOwnPrefixes)) return false;
  if (spec.placement.gpus_per_rank > 0 && is_among(name, kVisibleGpus, {})) return false;
  return spec.whole_environment || is_among(name, {}, kOpenMpisPrefixes) ||
         (spec.torch.used && is_among(name, kTorchs, kTorchsPrefixes));
}

}  // namespace

std::vector<std::string> travelling(const cli::JobSpec& spec,
                                    const std::vector<std::string>& environment) {
  std::vector<std::string> all;
  for (const std::string& entry : environment)
    if (const auto equals = entry.find('='); equals != std::string::npos && equals > 0)
      if (travels(spec, std::string_view(entry).substr(0, equals))) all.push_back(entry);
  return all;
}

}  // namespace tutti::launch::job
