// Chapter 9: the environment: versions, names, time, memory.
#include <arpa/inet.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "base/clock.h"
#include "bodies.h"
#include "mpi/convert.h"
#include "mpi/trouble.h"

namespace tutti::mpi::body {
namespace {

// An address, or the name by which every host knows itself (localhost, localhost.localdomain, ...).
bool says_no_host(const char* name) {
  in6_addr address;
  return ::inet_pton(AF_INET, name, &address) == 1 || ::inet_pton(AF_INET6, name, &address) == 1 ||
         std::strncmp(name, "localhost", std::strlen("localhost")) == 0;
}

}  // namespace

Code get_version(int* version, int* subversion) {
  *version = MPI_VERSION;
  *subversion = MPI_SUBVERSION;
  return Code::ok;
}

Code get_library_version(char* version, int* resultlen) {
  *resultlen = put_text("Tutti " TUTTI_VERSION " (MPI 5.0, standard ABI 1.0)", version,
                        MPI_MAX_LIBRARY_VERSION_STRING);
  return Code::ok;
}

// The host as the launcher names it: rank 0's answer differs from rank 1's on a virtual host. Where
// the launcher was given an address, or localhost, the host says its name itself.
Code get_processor_name(char* name, int* resultlen) {
  const wireup::Wireup& me = process.world->wireup();
  const char* host = me.segment().host(static_cast<std::uint32_t>(me.host())).name;
  char own[MPI_MAX_PROCESSOR_NAME] = "";
  if ((*host == '\0' || says_no_host(host)) && ::gethostname(own, sizeof own - 1) == 0) host = own;
  *resultlen = put_text(host, name, MPI_MAX_PROCESSOR_NAME);
  return Code::ok;
}

double wtime() {
  return static_cast<double>(now_ns()) * 1e-9;
}
double wtick() {
  return 1e-9;
}

Code alloc_mem(MPI_Aint size, Info* info, void* baseptr) {
  std::size_t alignment = kCacheLine;
  if (info != nullptr)
    if (const std::string* wanted = info->find("mpi_minimum_memory_alignment"))
      alignment = std::max(alignment, static_cast<std::size_t>(std::atoll(wanted->c_str())));
  if (size < 0 || (alignment & (alignment - 1)) != 0)
    return refuse(Code::arg, size < 0 ? "size is below zero"
                                      : "mpi_minimum_memory_alignment is not a power of two");
  const std::size_t bytes =
      round_up(std::max<std::size_t>(static_cast<std::size_t>(size), 1), alignment);
  void* const memory = std::aligned_alloc(alignment, bytes);
  if (memory == nullptr)
    return refuse(Code::no_mem, "no " + std::to_string(size) + " bytes are left");
  std::memcpy(baseptr, &memory, sizeof memory);
  return Code::ok;
}

Code free_mem(void* base) {
  std::free(base);
  return Code::ok;
}

Code pcontrol(int /*level*/) {
  return Code::ok;
}  // nothing to profile (MPI 5.0, 15.2.4)

}  // namespace tutti::mpi::body
