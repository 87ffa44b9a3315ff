// Names of process sets (MPI 5.0, 11.3.2): URIs, whose letters may be written either way.
#pragma once

#include <strings.h>

#include <string>

namespace tutti::mpi {

inline constexpr const char* kWorldSet = "mpi://WORLD";
inline constexpr const char* kSelfSet = "mpi://SELF";
inline constexpr const char* kHostSet = "tutti://HOST";  // the processes of this host

inline bool is_set(const std::string& name, const char* set) {
  return ::strcasecmp(name.c_str(), set) == 0;
}

}  // namespace tutti::mpi
