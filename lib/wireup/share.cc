// Sharing and taking, as far as all clients do it alike: whose file, for whom, and what a file must
// be before somebody maps it.
#include "wireup/share.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <string_view>

#include "wireup/share_store.h"
#include "wireup/wireup.h"

namespace tutti::wireup {
namespace {

std::string host_name(const Wireup& wireup, int host) {
  return wireup.segment().host(static_cast<std::uint32_t>(host)).name;
}

Result<Takers> takers_of(const Wireup& wireup, std::span<const int> to) {
  Takers takers;
  for (int local = 0; to.empty() && local < wireup.local_size(); ++local)
    takers.add(static_cast<std::size_t>(local));
  for (const int rank : to) {
    if (rank < 0 || rank >= wireup.size())
      return fail(Code::rank, "there is no rank " + std::to_string(rank) + " to share with");
    if (wireup.host_of(rank) != wireup.host())
      return fail(Code::rank, "rank " + std::to_string(rank) + " is on host " +
                                  host_name(wireup, wireup.host_of(rank)) + ", " +
                                  wireup.name_of(wireup.rank()) +
                                  ": a memory file reaches ranks of its own host only");
    const RankPlace& place = wireup.segment().place(static_cast<std::uint32_t>(rank));
    takers.add(static_cast<std::size_t>(place.local_rank));
  }
  return takers;
}

}  // namespace

Result<std::uint64_t> sealed_bytes(int fd) {
  // First: of any other file it asks nobody and waits for nothing.
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & (F_SEAL_SHRINK | F_SEAL_GROW)) != (F_SEAL_SHRINK | F_SEAL_GROW))
    return fail(Code::arg, "it is no memory file whose size is sealed");
  struct stat status {};
  if (::fstat(fd, &status) != 0 || status.st_size <= 0)
    return fail(Code::arg, "it is an empty memory file");
  return static_cast<std::uint64_t>(status.st_size);
}

Result<Shared> Wireup::share(int fd, std::span<const int> to) {
  TUTTI_TRY(takers, takers_of(*this, to));
  ::fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);  // it fails where they are there, too
  if (const auto bytes = sealed_bytes(fd); !bytes)
    return fail(Code::arg, name_of(rank()) + " cannot share a file: " + bytes.error().text +
                               "; make it by memfd_create with MFD_ALLOW_SEALING and size it");
  return hand_to_host(fd, takers);
}

bool is_of_driver(int fd) {
  char link[64] = {};
  const std::string name = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t got = ::readlink(name.c_str(), link, sizeof link - 1);
  const std::string_view to(link, got < 0 ? 0 : static_cast<std::size_t>(got));
  for (const std::string_view start : {"/dev/nvidia", "/dev/dri/", "/dev/kfd", "/dmabuf"})
    if (to.substr(0, start.size()) == start) return true;
  return false;
}

Result<Shared> Wireup::share_device(int fd) {
  TUTTI_TRY(takers, takers_of(*this, {}));
  if (!is_of_driver(fd) && !sealed_bytes(fd))
    return fail(Code::arg, name_of(rank()) + " cannot share what is no GPU driver's descriptor");
  return hand_to_host(fd, takers);
}

Result<UniqueFd> Wireup::take_device(const ShareKey& key) {
  const std::string who = name_of(rank()) + " cannot take the descriptor that ";
  TUTTI_TRY(taken, take_any(key, who));
  if (key.bytes == 0 ? !is_of_driver(taken.get()) : !sealed_bytes(taken.get()))
    return fail(Code::other, who + "was shared: what came is no GPU driver's");
  return taken;
}

Result<UniqueFd> Wireup::take(const ShareKey& key) {
  const std::string who = name_of(rank()) + " cannot take the file that ";
  TUTTI_TRY(taken, take_any(key, who));
  const auto bytes = sealed_bytes(taken.get());
  if (key.bytes == 0 || !bytes || *bytes != key.bytes)
    return fail(Code::other, who + "rank " + std::to_string(segment().rank_of(key.sharer)) +
                                 " shared: what came is not a file of " +
                                 std::to_string(key.bytes) + " bytes");
  return taken;
}

Result<UniqueFd> Wireup::take_any(const ShareKey& key, const std::string& who) {
  if (key.host != static_cast<std::uint32_t>(host()) ||
      key.sharer >= static_cast<std::uint32_t>(local_size()))
    return fail(Code::arg, who + "its key is for: the key is not of a rank of this host");
  const std::string sharer = "rank " + std::to_string(segment().rank_of(key.sharer)) + " shared: ";
  if (key.generation != segment().header().generation)
    return fail(Code::arg, who + sharer + "the key is of MPI program " +
                               std::to_string(key.generation) + " of the job, this is program " +
                               std::to_string(segment().header().generation));
  auto taken = fetch_shared(key);
  if (!taken) return fail(taken.error().code, who + sharer + taken.error().text);
  if (!taken->is_open())
    return fail(Code::no_mem, who + sharer +
                                  "no descriptor is left for it here; raise the limit "
                                  "of open files (ulimit -n)");
  return taken;
}

}  // namespace tutti::wireup
