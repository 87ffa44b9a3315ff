// A board: what another launcher offers its ranks to meet by. Private to wireup.
//
// Each rank puts up texts under keys; after fence() everybody can read what all had put before.
// guest.cc makes a world out of any board: one host's ranks share a segment that the lowest of
// them makes, addresses of the others are read from the board when they are needed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "wireup/wireup.h"

namespace tutti::wireup {

class Board {
 public:
  virtual ~Board() = default;
  int rank() const { return rank_; }
  int size() const { return size_; }
  // The launcher's number of this rank's host, or empty where it has none.
  const std::string& node() const { return node_; }

  virtual Result<void> put(const std::string& key, const std::string& value) = 0;
  virtual Result<void> fence() = 0;
  virtual Result<std::string> get(int rank, const std::string& key) = 0;
  virtual void abort(int status, const std::string& reason) = 0;
  virtual Result<void> finalized() = 0;

 protected:
  int rank_ = 0, size_ = 1;
  std::string node_;
};

// Whether a launcher can have meant this rank of so many; `said` names both for the error. Nothing
// is kept of either before: what does not fit an int would be another rank's number.
Result<void> check_rank(std::optional<std::int64_t> rank, std::optional<std::int64_t> size,
                        const std::string& said);

using BoardPtr = std::unique_ptr<Board>;
// `costs`: TUTTI_COSTS here; rank 0's is what all ranks go by.
Result<std::unique_ptr<Wireup>> join_board(BoardPtr board, std::string costs);

Result<BoardPtr> open_pmi_board(const Lookup& getenv);     // Hydra, srun with pmi2
Result<BoardPtr> open_pmix_board(const Lookup& getenv);    // Open MPI's mpirun, srun with pmix
Result<BoardPtr> open_socket_board(const Lookup& getenv);  // torchrun's variables

}  // namespace tutti::wireup
