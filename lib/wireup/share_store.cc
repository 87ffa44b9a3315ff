// Bounded by files and bytes of each rank, and by the descriptors of this process: those who share
// much cost others nothing.
#include "wireup/share_store.h"

#include <sys/resource.h>

#include <string>
#include <utility>

#include "base/random_bytes.h"
#include "wireup/protocol.h"

namespace tutti::wireup {
namespace {

constexpr int kSpareDescriptors = 128;  // for everything else that this process does

bool has_descriptors_left(int last) {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
         static_cast<rlim_t>(last) + kSpareDescriptors <= limit.rlim_cur;
}

}  // namespace

Result<ShareKey> ShareStore::add(int sharer, std::uint32_t generation, const Takers& to,
                                 UniqueFd file) {
  const auto sealed = sealed_bytes(file.get());
  if (!sealed && !is_of_driver(file.get())) return tl::unexpected<Error>(sealed.error());
  const std::uint64_t bytes = sealed ? *sealed : 0;
  std::size_t files = 0;
  std::uint64_t room = kMostSharedBytes;  // never below 0: each was let in by this rule
  for (const auto& [number, each] : files_) {
    if (each.key.sharer != static_cast<std::uint32_t>(sharer)) continue;
    ++files;
    room -= each.key.bytes;
  }
  if (files >= kMostShared)
    return fail(Code::no_mem, "the rank shares " + std::to_string(kMostShared) +
                                  " files already; one must be withdrawn first");
  if (bytes > room)
    return fail(Code::no_mem, std::to_string(bytes) + " bytes are more than a rank may share: " +
                                  std::to_string(room) + " are left");
  if (!has_descriptors_left(file.get()))
    return fail(Code::no_mem,
                "too many files are shared on this host; raise the limit of open "
                "files (ulimit -n)");
  File made;
  made.key.bytes = bytes;
  made.key.place = place_;
  made.key.host = host_;
  made.key.generation = generation;
  made.key.sharer = static_cast<std::uint32_t>(sharer);
  do {
    made.key.number = next_++;
  } while (files_.count(made.key.number) != 0);
  if (!random_bytes(made.key.secret, sizeof made.key.secret))
    return fail(Code::other, "the kernel gives no random numbers");
  made.to = to;
  made.fd = KeptFd(std::move(file));
  const ShareKey key = made.key;
  files_.emplace(key.number, std::move(made));
  return key;
}

Result<int> ShareStore::find(int taker, std::uint32_t generation, const ShareKey& key) const {
  const auto found = files_.find(key.number);
  if (found == files_.end() ||
      !is_same_secret(found->second.key.secret, key.secret, sizeof key.secret))
    return fail(Code::arg,
                "nothing is shared under this key: it was withdrawn, its sharer has "
                "ended, or the key is wrong");
  const File& file = found->second;
  if (file.key.generation != generation)
    return fail(Code::arg, "it belongs to another MPI program of the job");
  if (!file.to.has(static_cast<std::size_t>(taker)))
    return fail(Code::access, "it is shared with other ranks only");
  if (!file.fd.is_there())
    return fail(Code::other,
                "its sharer has closed descriptors that it did not open, this one too");
  return file.fd.get();
}

UniqueFd ShareStore::remove(std::uint32_t number) {
  const auto found = files_.find(number);
  if (found == files_.end()) return {};
  UniqueFd file = found->second.fd.release();
  files_.erase(found);
  return file;
}

}  // namespace tutti::wireup
