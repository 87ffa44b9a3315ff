// Each row's operation is what one rank does of it: a message sent and one received, one exchange,
// one collective. Results are checked by the suites; here only a wrong return code ends the run.
#include "instructions/rows.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "instructions/turns.h"

namespace tutti::ruler {
namespace {

constexpr int kTag = 7;
const MPI_Comm kWorld = MPI_COMM_WORLD;

void good(int code) {
  if (code == MPI_SUCCESS) return;
  std::fprintf(stderr, "an MPI function returned %d\n", code);
  std::exit(1);
}

struct Buffers {
  explicit Buffers(int bytes)
      : out(static_cast<std::size_t>(bytes) / sizeof(double), 1.0), in(out.size(), 0.0) {}
  std::vector<double> out, in;
};

std::shared_ptr<Buffers> buffers_of(int bytes) {
  return std::make_shared<Buffers>(bytes);
}

// A ping-pong: rank 0 begins.
Part send_recv(const Mpi& mpi, int rank, int bytes) {
  const auto memory = buffers_of(bytes);
  const auto send = [&mpi, rank, bytes, memory] {
    good(mpi.send(memory->out.data(), bytes, MPI_BYTE, 1 - rank, kTag, kWorld));
  };
  const auto recv = [&mpi, rank, bytes, memory] {
    good(mpi.recv(memory->in.data(), bytes, MPI_BYTE, 1 - rank, kTag, kWorld, MPI_STATUS_IGNORE));
  };
  if (rank == 0)
    return {[send, recv] {
      send();
      recv();
    }};
  return {[send, recv] {
    recv();
    send();
  }};
}

Part isend_irecv(const Mpi& mpi, int rank, int bytes) {
  return {[&mpi, rank, bytes, memory = buffers_of(bytes)] {
    std::array<MPI_Request, 2> both{};
    good(mpi.irecv(memory->in.data(), bytes, MPI_BYTE, 1 - rank, kTag, kWorld, &both[0]));
    good(mpi.isend(memory->out.data(), bytes, MPI_BYTE, 1 - rank, kTag, kWorld, &both[1]));
    good(mpi.waitall(2, both.data(), MPI_STATUSES_IGNORE));
  }};
}

Part persistent(const Mpi& mpi, int rank, int bytes) {
  const auto memory = buffers_of(bytes);
  const auto both = std::make_shared<std::array<MPI_Request, 2>>();
  MPI_Request* const requests = both->data();
  good(mpi.recv_init(memory->in.data(), bytes, MPI_BYTE, 1 - rank, kTag, kWorld, requests));
  good(mpi.send_init(memory->out.data(), bytes, MPI_BYTE, 1 - rank, kTag, kWorld, requests + 1));
  return {[&mpi, memory, both, requests] {
            good(mpi.startall(2, requests));
            good(mpi.waitall(2, requests, MPI_STATUSES_IGNORE));
          },
          [&mpi, both, requests] {
            good(mpi.request_free(requests));
            good(mpi.request_free(requests + 1));
          }};
}

// Alone: what a call costs when nothing travels.
Part to_itself(const Mpi& mpi, int, int bytes) {
  return {[&mpi, bytes, memory = buffers_of(bytes)] {
    good(mpi.sendrecv(memory->out.data(), bytes, MPI_BYTE, 0, kTag, memory->in.data(), bytes,
                      MPI_BYTE, 0, kTag, MPI_COMM_SELF, MPI_STATUS_IGNORE));
  }};
}

Part barrier(const Mpi& mpi, int, int) {
  return {[&mpi] { good(mpi.barrier(kWorld)); }};
}

// Nobody answers the root: without that turn it would run ahead until the link is full.
Part bcast(const Mpi& mpi, int, int bytes) {
  return {[&mpi, bytes, memory = buffers_of(bytes)] {
    good(mpi.bcast(memory->in.data(), bytes, MPI_BYTE, 0, kWorld));
    turn();
  }};
}

Part allreduce(const Mpi& mpi, int, int bytes) {
  return {[&mpi, memory = buffers_of(bytes)] {
    good(mpi.allreduce(memory->out.data(), memory->in.data(), static_cast<int>(memory->in.size()),
                       MPI_DOUBLE, MPI_SUM, kWorld));
  }};
}

// The size is that of a block.
Part reduce_scatter_block(const Mpi& mpi, int, int bytes) {
  return {[&mpi, from = buffers_of(2 * bytes), into = buffers_of(bytes)] {
    good(mpi.reduce_scatter_block(from->out.data(), into->in.data(),
                                  static_cast<int>(into->in.size()), MPI_DOUBLE, MPI_SUM, kWorld));
  }};
}

// The first rank waits for nobody: without the turn it would run ahead.
Part scan(const Mpi& mpi, int, int bytes) {
  return {[&mpi, memory = buffers_of(bytes)] {
    good(mpi.scan(memory->out.data(), memory->in.data(), static_cast<int>(memory->in.size()),
                  MPI_DOUBLE, MPI_SUM, kWorld));
    turn();
  }};
}

Part alltoall(const Mpi& mpi, int, int bytes) {
  return {[&mpi, bytes, memory = buffers_of(2 * bytes)] {
    good(mpi.alltoall(memory->out.data(), bytes, MPI_BYTE, memory->in.data(), bytes, MPI_BYTE,
                      kWorld));
  }};
}

Part allgatherv(const Mpi& mpi, int, int bytes) {
  return {[&mpi, bytes, memory = buffers_of(2 * bytes)] {
    const std::array<int, 2> counts{bytes, bytes}, displs{0, bytes};
    good(mpi.allgatherv(memory->out.data(), bytes, MPI_BYTE, memory->in.data(), counts.data(),
                        displs.data(), MPI_BYTE, kWorld));
  }};
}

Part alltoallv(const Mpi& mpi, int, int bytes) {
  return {[&mpi, bytes, memory = buffers_of(2 * bytes)] {
    const std::array<int, 2> counts{bytes, bytes}, displs{0, bytes};
    good(mpi.alltoallv(memory->out.data(), counts.data(), displs.data(), MPI_BYTE,
                       memory->in.data(), counts.data(), displs.data(), MPI_BYTE, kWorld));
  }};
}

Part ibarrier(const Mpi& mpi, int, int) {
  return {[&mpi] {
    MPI_Request request{};
    good(mpi.ibarrier(kWorld, &request));
    good(mpi.wait(&request, MPI_STATUS_IGNORE));
  }};
}

Part ibcast(const Mpi& mpi, int, int bytes) {
  return {[&mpi, bytes, memory = buffers_of(bytes)] {
    MPI_Request request{};
    good(mpi.ibcast(memory->in.data(), bytes, MPI_BYTE, 0, kWorld, &request));
    good(mpi.wait(&request, MPI_STATUS_IGNORE));
    turn();
  }};
}

Part iallreduce(const Mpi& mpi, int, int bytes) {
  return {[&mpi, memory = buffers_of(bytes)] {
    MPI_Request request{};
    good(mpi.iallreduce(memory->out.data(), memory->in.data(), static_cast<int>(memory->in.size()),
                        MPI_DOUBLE, MPI_SUM, kWorld, &request));
    good(mpi.wait(&request, MPI_STATUS_IGNORE));
  }};
}

Part persistent_allreduce(const Mpi& mpi, int, int bytes) {
  const auto memory = buffers_of(bytes);
  const auto request = std::make_shared<MPI_Request>();
  good(mpi.allreduce_init(memory->out.data(), memory->in.data(),
                          static_cast<int>(memory->in.size()), MPI_DOUBLE, MPI_SUM, kWorld,
                          MPI_INFO_NULL, request.get()));
  return {[&mpi, memory, request] {
            good(mpi.start(request.get()));
            good(mpi.wait(request.get(), MPI_STATUS_IGNORE));
          },
          [&mpi, request] { good(mpi.request_free(request.get())); }};
}

using Make = Part (*)(const Mpi&, int rank, int bytes);

struct Kind {
  const char* name;
  Make make;
  std::vector<int> sizes;  // in bytes; 0: it has none
  bool is_inside = false;  // only inside a host: schedules with counts allocate
};

std::string size_text(int bytes) {
  if (bytes == 0) return "";
  if (bytes < 1024) return " " + std::to_string(bytes) + " B";
  return " " + std::to_string(bytes / 1024) + " KiB";
}

}  // namespace

std::vector<Row> all_rows(bool is_inside) {
  constexpr int kShort = 8, kMiddle = 1 << 10, kLong = 64 << 10;
  const std::vector<Kind> kinds{
      {"Send, Recv", send_recv, {kShort, kMiddle, kLong}},
      {"Isend, Irecv, Waitall", isend_irecv, {kShort, kMiddle, kLong}},
      {"persistent Startall, Waitall", persistent, {kShort, kMiddle, kLong}},
      {"Sendrecv with itself", to_itself, {kShort}},
      {"Barrier", barrier, {0}},
      {"Bcast", bcast, {kShort, kLong}},
      {"Allreduce", allreduce, {kShort, kLong}},
      {"Reduce_scatter_block", reduce_scatter_block, {kShort, kMiddle}, true},
      {"Scan", scan, {kShort}},
      {"Alltoall", alltoall, {kShort, kLong}},
      {"Allgatherv", allgatherv, {kShort, kLong}, true},
      {"Alltoallv", alltoallv, {kShort, kLong}, true},
      {"Ibarrier, Wait", ibarrier, {0}},
      {"Ibcast, Wait", ibcast, {kShort, kLong}},
      {"Iallreduce, Wait", iallreduce, {kShort, kLong}},
      {"persistent Allreduce", persistent_allreduce, {kShort}},
  };
  std::vector<Row> rows;
  for (const Kind& kind : kinds)
    for (const int bytes : kind.is_inside && !is_inside ? std::vector<int>{} : kind.sizes)
      rows.push_back(
          {kind.name + size_text(bytes),
           [make = kind.make, bytes](const Mpi& mpi, int rank) { return make(mpi, rank, bytes); }});
  return rows;
}

}  // namespace tutti::ruler
