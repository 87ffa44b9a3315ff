// process_vm_readv and _writev between neighbours, and the proof that they work.
#include "transport/shm/single_copy.h"

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/random_bytes.h"
#include "transport/wake.h"

namespace tutti::transport::shm {
namespace {

// One call moves at most this much, so that a signal is not kept waiting for long.
constexpr std::size_t kStep = std::size_t{16} << 20;

bool yama_asks_for_parentage() {
  std::FILE* file = std::fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
  if (file == nullptr) return false;
  const int scope = std::fgetc(file);
  std::fclose(file);
  return scope == '1';
}

// Nobody else's memory holds it. 0: the kernel gives no random numbers.
std::uint64_t random_word() {
  std::uint64_t word = 0;
  if (!random_bytes(&word, sizeof word)) return 0;
  return word | 1;
}

std::uint64_t own_pid_namespace() {
  struct stat status {};
  return ::stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0;
}

std::atomic_ref<std::uint64_t> published(wireup::LocalRecord& record) {
  return std::atomic_ref<std::uint64_t>(record.probe_value);
}

}  // namespace

SingleCopy::SingleCopy(const wireup::Segment& segment, std::uint32_t local, bool wanted)
    : segment_(segment), local_(local), word_(0), wanted_(wanted) {
  wireup::LocalRecord& own = segment_.local(local_);
  // relaxed: with ForeignLoad, which may look meanwhile.
  std::atomic_ref(own.pid_namespace).store(own_pid_namespace(), std::memory_order_relaxed);
  if (!wanted_) {
    reason_ = "TUTTI_SINGLE_COPY=off";
    return;
  }
#ifdef PR_SET_PTRACER
  if (yama_asks_for_parentage()) ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
#endif
  word_ = random_word();
  own.probe_address = reinterpret_cast<std::uint64_t>(&word_);
  // release: pairs with the acquire in read(); the value says that the rest is there.
  published(own).store(word_, std::memory_order_release);
}

SingleCopy::~SingleCopy() {
  if (wanted_) published(segment_.local(local_)).store(0, std::memory_order_relaxed);
}

bool SingleCopy::works(std::uint32_t peer) {
  if (!wanted_) return false;
  if (proofs_.empty()) {
    proofs_.resize(segment_.header().local_ranks, Proven::unknown);
    if (!probe(local_, proofs_[local_])) std::fill(proofs_.begin(), proofs_.end(), Proven::no);
  }
  Proven& proof = proofs_[peer];
  if (proof == Proven::unknown) return probe(peer, proof);
  return proof == Proven::yes;
}

bool SingleCopy::probe(std::uint32_t peer, Proven& proof) {
  // acquire: as in read().
  if (published(segment_.local(peer)).load(std::memory_order_acquire) == 0 && peer != local_)
    return true;
  const auto seen = read(peer, 0, {});
  proof = seen ? Proven::yes : Proven::no;
  if (!seen) reason_ = seen.error().text;
  return proof == Proven::yes;
}

// A rank that ended is gone from the word's place, too; for another process to be written to it
// would have to get that one's number between two calls to the kernel.
Result<void> SingleCopy::write(std::uint32_t peer, std::uint64_t to, const Memory& from) const {
  TUTTI_DO(read(peer, 0, {}));
  for (std::size_t done = 0; done < from.bytes;) {
    const std::size_t step = std::min(from.bytes - done, kStep);
    const iovec here{static_cast<std::byte*>(from.data) + done, step};
    const iovec there{reinterpret_cast<void*>(to + done), step};
    const ssize_t put = ::process_vm_writev(segment_.local(peer).pid, &here, 1, &there, 1, 0);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0)
      return fail(errno == ESRCH ? Code::proc_aborted : Code::other,
                  std::string("process_vm_writev: ") +
                      (put == 0 ? "nothing written" : std::strerror(errno)));
    done += static_cast<std::size_t>(put);
  }
  return {};
}

}  // namespace tutti::transport::shm

namespace tutti::transport {

bool is_readable(const wireup::Segment& segment, std::uint32_t local) {
  // acquire: pairs with the release in the peer's constructor.
  return shm::published(segment.local(local)).load(std::memory_order_acquire) != 0;
}

Result<void> read_neighbour(const wireup::Segment& segment, LocalPair who, std::uint64_t from,
                            const Memory& into) {
  wireup::LocalRecord& record = segment.local(who.peer);
  // acquire: pairs with the release in the peer's constructor.
  const std::uint64_t expected = shm::published(record).load(std::memory_order_acquire);
  if (record.pid_namespace != segment.local(who.me).pid_namespace)
    return fail(Code::other, "process ids are not shared (different pid namespaces)");
  std::size_t done = 0;
  do {
    const std::size_t step = std::min(into.bytes - done, shm::kStep);
    std::uint64_t seen = 0;
    iovec here[] = {{&seen, sizeof seen}, {static_cast<std::byte*>(into.data) + done, step}};
    iovec there[] = {{reinterpret_cast<void*>(record.probe_address), sizeof seen},
                     {reinterpret_cast<void*>(from + done), step}};
    const ssize_t got = ::process_vm_readv(record.pid, here, 2, there, 2, 0);
    if (got < 0 && errno == EINTR) continue;
    const auto word = static_cast<ssize_t>(sizeof seen);
    if (got < word || (got == word && step > 0))
      return fail(
          got < 0 && errno == ESRCH ? Code::proc_aborted : Code::other,
          std::string("process_vm_readv: ") + (got >= 0 ? "nothing read" : std::strerror(errno)));
    if (expected == 0 || seen != expected)
      return fail(Code::other, "process " + std::to_string(record.pid) +
                                   " is not that rank (another pid namespace?)");
    done += static_cast<std::size_t>(got - word);
  } while (done < into.bytes);
  return {};
}

}  // namespace tutti::transport
