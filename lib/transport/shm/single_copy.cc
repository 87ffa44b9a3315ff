// process_vm_readv between neighbours, and the proof that it works.
#include "transport/shm/single_copy.h"

#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "transport/wake.h"

namespace tutti::transport::shm {
namespace {

struct ExposedAt {
  std::uint64_t address;
  std::uint64_t bytes;
};

// One call moves at most this much, so that a signal is not kept waiting for long.
constexpr std::size_t kStep = std::size_t{16} << 20;

bool yama_asks_for_parentage() {
  std::FILE* file = std::fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
  if (file == nullptr) return false;
  const int scope = std::fgetc(file);
  std::fclose(file);
  return scope == '1';
}

// The value is derived from where the word lies, so a stale or foreign word does not match.
std::uint64_t value_for(std::uint64_t address) {
  return address * 0x9e3779b97f4a7c15U | 1;
}

std::atomic_ref<std::uint64_t> published(wireup::LocalRecord& record) {
  return std::atomic_ref<std::uint64_t>(record.first_contact[kProbeValue]);
}

}  // namespace

SingleCopy::SingleCopy(const wireup::Segment& segment, std::uint32_t local, bool wanted)
    : segment_(segment), local_(local), word_(0), wanted_(wanted) {
  if (!wanted_) {
    reason_ = "TUTTI_SINGLE_COPY=off";
    return;
  }
#ifdef PR_SET_PTRACER
  if (yama_asks_for_parentage()) ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
#endif
  const auto address = reinterpret_cast<std::uint64_t>(&word_);
  word_ = value_for(address);
  wireup::LocalRecord& own = segment_.local(local_);
  own.first_contact[kProbeAddress] = address;
  // release: pairs with the acquire in probe(); the value says that address and word are there.
  published(own).store(word_, std::memory_order_release);
}

SingleCopy::~SingleCopy() {
  if (wanted_) published(segment_.local(local_)).store(0, std::memory_order_relaxed);
}

bool SingleCopy::works(std::uint32_t peer) {
  if (!wanted_) return false;
  if (proofs_.empty()) {
    proofs_.resize(segment_.header().local_ranks, Proof::unknown);
    if (!probe(local_, proofs_[local_])) std::fill(proofs_.begin(), proofs_.end(), Proof::no);
  }
  Proof& proof = proofs_[peer];
  if (proof == Proof::unknown) return probe(peer, proof);
  return proof == Proof::yes;
}

bool SingleCopy::probe(std::uint32_t peer, Proof& proof) {
  wireup::LocalRecord& record = segment_.local(peer);
  // acquire: pairs with the release in the peer's constructor.
  const std::uint64_t expected = published(record).load(std::memory_order_acquire);
  if (expected == 0) return true;
  std::uint64_t seen = 0;
  const auto read =
      read_process(record.pid, record.first_contact[kProbeAddress], &seen, sizeof seen);
  proof = read && seen == expected ? Proof::yes : Proof::no;
  if (proof == Proof::no)
    reason_ = read ? "process ids are not shared (different pid namespaces)" : read.error().text;
  return proof == Proof::yes;
}

Key SingleCopy::expose(const Memory& memory) const {
  const ExposedAt at{reinterpret_cast<std::uint64_t>(memory.data), memory.bytes};
  Key key(sizeof at);
  std::memcpy(key.data(), &at, sizeof at);
  return key;
}

Result<void> SingleCopy::read(std::uint32_t peer, const Key& key, const Memory& into) {
  ExposedAt at{};
  if (key.size() != sizeof at) return fail(Code::intern, "a key that shm did not make");
  std::memcpy(&at, key.data(), sizeof at);
  if (into.bytes > at.bytes)
    return fail(Code::intern, "reading " + std::to_string(into.bytes) + " of " +
                                  std::to_string(at.bytes) + " exposed bytes");
  const int pid = segment_.local(peer).pid;
  if (pid == static_cast<int>(::getpid())) {  // ranks as threads
    if (into.bytes > 0)
      std::memcpy(into.data, reinterpret_cast<const void*>(at.address), into.bytes);
    return {};
  }
  return read_process(pid, at.address, into.data, into.bytes);
}

Result<void> SingleCopy::read_process(int pid, std::uint64_t from, void* to,
                                      std::size_t bytes) const {
  std::size_t done = 0;
  while (done < bytes) {
    const std::size_t step = std::min(bytes - done, kStep);
    iovec here{static_cast<std::byte*>(to) + done, step};
    iovec there{reinterpret_cast<void*>(from + done), step};
    const ssize_t got = ::process_vm_readv(pid, &here, 1, &there, 1, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0)
      return fail(
          errno == ESRCH ? Code::proc_aborted : Code::other,
          std::string("process_vm_readv: ") + (got == 0 ? "nothing read" : std::strerror(errno)));
    done += static_cast<std::size_t>(got);
  }
  return {};
}

}  // namespace tutti::transport::shm
