// single_copy: reading and writing a neighbour's memory directly, by process_vm_readv and _writev.
//
// Whether the kernel lets us is found out, never assumed: every rank publishes the address of a
// word it owns, and the first question about a peer reads that word. Containers refuse by
// seccomp, Yama by parentage (lifted for our own ranks by naming ourselves traceable). A process id
// and an address say nothing about who is there: every container has a process 1, and without
// randomisation all have the same addresses. So the word is random, and every read takes it along.
// A write cannot: the word is read just before it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "transport/transport.h"
#include "wireup/segment.h"

namespace tutti::transport::shm {

class SingleCopy {
 public:
  // `wanted`: TUTTI_SINGLE_COPY is not "off". Publishes this rank's word.
  SingleCopy(const wireup::Segment& segment, std::uint32_t local, bool wanted);
  ~SingleCopy();
  SingleCopy(const SingleCopy&) = delete;
  SingleCopy& operator=(const SingleCopy&) = delete;

  // Whether memory of local rank `peer` can be read. A peer that has not started yet is
  // believed to be like ourselves; reading it later may then still fail.
  bool works(std::uint32_t peer);
  const std::string& reason() const { return reason_; }  // why not, once works() said false

  // Reads into.bytes at address `from` of that process.
  Result<void> read(std::uint32_t peer, std::uint64_t from, const Memory& into) const {
    return read_neighbour(segment_, {local_, peer}, from, into);
  }
  // Writes from.bytes at address `to` of that process.
  Result<void> write(std::uint32_t peer, std::uint64_t to, const Memory& from) const;

 private:
  enum class Proven : std::uint8_t { unknown, yes, no };
  bool probe(std::uint32_t peer, Proven& proof);

  const wireup::Segment& segment_;
  std::uint32_t local_;
  volatile std::uint64_t word_;  // what peers read to prove that they can
  std::vector<Proven> proofs_;   // by local rank, from the first question on
  std::string reason_;
  bool wanted_;
};

}  // namespace tutti::transport::shm
