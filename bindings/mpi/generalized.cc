// The user's three functions behind the hooks of an open request.
#include "mpi/generalized.h"

#include <exception>

#include "base/log.h"
#include "mpi/callback.h"
#include "mpi/convert.h"

namespace tutti::mpi {
namespace {

class Generalized final : public comm::Hooks {
 public:
  explicit Generalized(const GeneralizedCalls& calls) : calls_(calls) {}
  // Freed by the user before it was complete, or never asked for: free_fn is called all the same.
  // An exception of its has nowhere to go from here.
  ~Generalized() override {
    try {
      freed(Code::ok);
    } catch (...) {
      log::warn("the free_fn of a generalized request (MPI_Grequest_start) threw an exception" +
                log::in_call() + ", and no call is there to pass it on");
      std::terminate();
    }
  }

  void query(p2p::Status& status) override {
    MPI_Status said;
    put_empty_status(&said);
    said.MPI_SOURCE = MPI_UNDEFINED;
    said.MPI_TAG = MPI_UNDEFINED;
    const int code =
        calls_.query == nullptr ? MPI_SUCCESS : call_user(calls_.query, calls_.extra, &said);
    status = {said.MPI_SOURCE, said.MPI_TAG, static_cast<Code>(code), is_cancelled(said),
              bytes_in(said)};
  }
  // A call that runs both functions returns what the last one said (13.2).
  Code freed(Code code) override {
    if (is_freed_ || calls_.free == nullptr) return code;
    is_freed_ = true;
    const int said = call_user(calls_.free, calls_.extra);
    return said != MPI_SUCCESS ? static_cast<Code>(said) : code;
  }
  Code cancel(bool is_done) override {
    if (calls_.cancel == nullptr) return Code::ok;
    return static_cast<Code>(call_user(calls_.cancel, calls_.extra, is_done ? 1 : 0));
  }
  bool is_generalized() const override { return true; }

 private:
  GeneralizedCalls calls_;
  bool is_freed_ = false;
};

}  // namespace

comm::Request* start_generalized(comm::Communicator& comm, const GeneralizedCalls& calls) {
  return comm::open_request(comm, std::make_unique<Generalized>(calls));
}

}  // namespace tutti::mpi
