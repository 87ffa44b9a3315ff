// A user's call in the words of a GPU vendor's library, and where its memory is.
#include <algorithm>
#include <numeric>
#include <vector>

#include "comm/delegated.h"
#include "comm/fingerprint.h"
#include "comm/gpu/calls.h"

namespace tutti::comm {
namespace {

using coll::Collective;
using delegate::GpuCall;

// Collects what goes to and comes from each member, and where all of that is.
class Pieces {
 public:
  Pieces(std::size_t size, GpuCall& said) : said_(said) {
    said.has_pieces = true;
    said.gives.resize(size);
    said.takes.resize(size);
  }
  void give(int to, const types::Buffer& block) {
    put(said_.gives[static_cast<std::size_t>(to)], block);
  }
  void take(int from, const types::Buffer& block) {
    put(said_.takes[static_cast<std::size_t>(from)], block);
  }
  int size() const { return static_cast<int>(said_.gives.size()); }

 private:
  static void put(GpuCall::Piece& piece, const types::Buffer& block) {
    if (block.bytes == 0) return;
    piece = {block.at(), block.bytes};
    // What nobody can work on is left to ours, which say so.
    const bool is_usable = block.device != nullptr && block.device->is_usable();
    piece.device = is_usable ? block.device->number() : -1;
    piece.is_one_run = block.is_one_run();
  }
  GpuCall& said_;
};

types::Buffer message(const Communicator& comm, const void* data, Count count,
                      const types::Datatype* type) {
  return type == nullptr ? types::Buffer{} : comm.runtime().devices.whole(data, count, *type);
}

void say_pieces(const Communicator& comm, const CollCall& call, GpuCall& said) {
  const types::Devices* const devices = &comm.runtime().devices;
  const delegate::BlockList send{const_cast<void*>(call.send),
                                 call.send_type,
                                 call.send_counts,
                                 call.send_displs,
                                 call.send_types,
                                 devices};
  const delegate::BlockList recv{call.recv,        call.recv_type,  call.recv_counts,
                                 call.recv_displs, call.recv_types, devices};
  Pieces pieces(static_cast<std::size_t>(comm.size()), said);
  const int me = comm.rank(), root = call.root;
  const bool is_root = me == root;
  const auto takes_all = [&](bool own) {
    for (int peer = 0; peer < pieces.size(); ++peer)
      if (own || peer != me) pieces.take(peer, recv.of(peer));
  };
  switch (call.collective) {
    case Collective::gatherv:
      if (is_root) takes_all(!call.in_place);
      if (!is_root || !call.in_place)
        pieces.give(root, message(comm, call.send, call.send_count, call.send_type));
      return;
    case Collective::scatterv:
      if (is_root)
        for (int peer = 0; peer < pieces.size(); ++peer)
          if (peer != me || !call.in_place) pieces.give(peer, send.of(peer));
      if (!is_root || !call.in_place)
        pieces.take(root, message(comm, call.recv, call.recv_count, call.recv_type));
      return;
    case Collective::allgatherv: {
      const types::Buffer own =
          call.in_place ? recv.of(me) : message(comm, call.send, call.send_count, call.send_type);
      for (int peer = 0; peer < pieces.size(); ++peer)
        if (peer != me || !call.in_place) pieces.give(peer, own);
      return takes_all(!call.in_place);
    }
    default:  // alltoallv, and by a type a block
      for (int peer = 0; peer < pieces.size(); ++peer) pieces.give(peer, send.of(peer));
      return takes_all(true);
  }
}

// reduce_scatter of blocks of their own sizes; or of equal ones that were said one by one.
void say_counts(const Communicator& comm, const CollCall& call, GpuCall& said) {
  delegate::TeamCall& to = said.said;
  to.type = type_of_reduction(call);
  to.op = call.op;
  to.recv = call.recv;
  to.send = call.in_place ? call.recv : call.send;
  const auto counts = call.recv_counts;
  to.count = counts[static_cast<std::size_t>(comm.rank())];
  to.block = std::accumulate(counts.begin(), counts.end(), Count{0}) * to.type->size();
  if (std::ranges::any_of(counts, [&](Count count) { return count != counts[0]; }))
    said.counts.assign(counts.begin(), counts.end());
}

// NCCL leaves a member's block where it stands in the vector, in place; it is then brought to the
// front, which works where the two have no element in common. Who is in place, each says for
// itself.
bool can_end_in_place(const std::vector<Count>& counts) {
  Count begin = 0;
  for (const Count count : counts) {
    if (begin > 0 && begin < count) return false;
    begin += count;
  }
  return true;
}

class Where {
 public:
  explicit Where(const types::Devices& devices) : devices_(devices) {}
  void note(const void* at, int device, bool is_one_run) {
    found_.on_host = found_.on_host || device < 0;
    if (device >= 0 && !devices_.is_for_libraries(at)) found_.in_primary = false;
    found_.in_order = found_.in_order && is_one_run &&
                      (found_.device < 0 || device < 0 || found_.device == device);
    if (device >= 0) found_.device = device;
  }
  void see(const types::Buffer& buffer, bool is_one_run) {
    const types::Device* const device = buffer.device;
    note(buffer.at(), device == nullptr ? -1 : device->number(), is_one_run);
    if (device != nullptr && !device->is_usable()) found_.on_host = true;  // ours says what it is
  }
  void see(const types::Buffer& buffer) {
    if (buffer.bytes > 0) see(buffer, buffer.is_one_run());
  }
  Whereabouts found() const { return found_; }

 private:
  const types::Devices& devices_;
  Whereabouts found_;
};

}  // namespace

bool say_to_gpus(const Communicator& comm, const CollCall& call, GpuCall& said) {
  if (call.neighbours || comm.is_inter() || !coll::has_gpu_library_form(call.collective))
    return false;
  said.said.collective = call.collective;
  said.said.root = call.root;
  said.said.in_place = call.in_place;
  const bool is_reduce_scatter = call.collective == Collective::reduce_scatter;
  if (!has_counts(call.collective) || (is_reduce_scatter && call.recv_counts.empty())) {
    if (!say_to_team(comm, call, said.said)) return false;
    return delegate::serves_on_gpus(said);
  }
  if (is_reduce_scatter)
    say_counts(comm, call, said);
  else if (!(call.collective == Collective::alltoallv && call.in_place))
    say_pieces(comm, call, said);
  said.said.fingerprint = fingerprint(call, call.root, said.said.block, said.said.type);
  return delegate::serves_on_gpus(said);
}

std::optional<Count> known_bytes(const Communicator& comm, const GpuCall& said) {
  if (said.has_pieces) return std::nullopt;
  const bool is_blocks = coll::delegated(said.said.collective).kind == coll::Delegated::blocks;
  return is_blocks ? said.said.block * comm.size() : said.said.block;
}

Whereabouts where_is(const Communicator& comm, const GpuCall& call) {
  const types::Devices& devices = comm.runtime().devices;
  Where where(devices);
  const delegate::TeamCall& said = call.said;
  if (call.has_pieces) {
    for (const auto* side : {&call.gives, &call.takes})
      for (const GpuCall::Piece& piece : *side)
        if (piece.bytes > 0) where.note(piece.at, piece.device, piece.is_one_run);
    return where.found();
  }
  if (said.op == nullptr) {
    where.see(said.from);
    where.see(said.into);
    return where.found();
  }
  const auto vector = [&](const void* data, Count count) {
    return devices.whole(data, count, *said.type);
  };
  where.see(vector(said.send, said.given()), !said.in_place || can_end_in_place(call.counts));
  if (is_told(comm, said) && said.recv != said.send) where.see(vector(said.recv, said.count), true);
  return where.found();
}

}  // namespace tutti::comm
