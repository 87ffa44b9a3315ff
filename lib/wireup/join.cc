// Which way was this process started? Asked once, answered from the environment.
#include <array>
#include <string>

#include "base/text.h"
#include "wireup/protocol.h"
#include "wireup/wireup.h"

namespace tutti::wireup {

std::string foreign_launcher(const Lookup& getenv) {
  // Each of these names a number of ranks; more than one means a world that we would miss.
  constexpr std::array<const char*, 5> kSizes{
      "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", "MPI_LOCALNRANKS", "WORLD_SIZE"};
  for (const char* name : kSizes) {
    const char* value = getenv(name);
    if (value == nullptr) continue;
    const auto ranks = text::parse_int(value);
    if (ranks && *ranks > 1) return std::string(name) + "=" + value;
  }
  return {};
}

Result<std::unique_ptr<Wireup>> join(const Lookup& getenv) {
  if (getenv(kSegmentFdVariable) != nullptr || getenv(kJobVariable) != nullptr)
    return join_prun(getenv);
  if (const std::string sign = foreign_launcher(getenv); !sign.empty())
    return fail(Code::other,
                "another launcher started this process (" + sign +
                    ") and this library cannot join its job; start the program with prun");
  return join_alone();
}

}  // namespace tutti::wireup
