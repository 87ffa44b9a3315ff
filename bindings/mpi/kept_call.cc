// Keeping the arrays, types and operation of a call as long as its persistent request.
#include "mpi/kept_call.h"

#include <memory>

#include "mpi/process.h"
#include "mpi/trouble.h"

namespace tutti::mpi {
namespace {

using TypeRef = Ref<const types::Datatype>;

struct KeptCall {
  explicit KeptCall(const comm::CollCall& from)
      : call(from),
        send_counts(from.send_counts.begin(), from.send_counts.end()),
        send_displs(from.send_displs.begin(), from.send_displs.end()),
        recv_counts(from.recv_counts.begin(), from.recv_counts.end()),
        recv_displs(from.recv_displs.begin(), from.recv_displs.end()),
        send_types(from.send_types.begin(), from.send_types.end()),
        recv_types(from.recv_types.begin(), from.recv_types.end()),
        op(Ref<const types::Op>::share(from.op)) {
    call.send_counts = send_counts;
    call.send_displs = send_displs;
    call.recv_counts = recv_counts;
    call.recv_displs = recv_displs;
    call.send_types = send_types;
    call.recv_types = recv_types;
    for (const types::Datatype* type : {from.send_type, from.recv_type})
      kept.push_back(TypeRef::share(type));
    for (const auto& types : {from.send_types, from.recv_types})
      for (const types::Datatype* type : types) kept.push_back(TypeRef::share(type));
  }
  KeptCall(const KeptCall&) = delete;
  KeptCall& operator=(const KeptCall&) = delete;

  comm::CollCall call;
  std::vector<Count> send_counts, send_displs, recv_counts, recv_displs;
  std::vector<const types::Datatype*> send_types, recv_types;
  std::vector<TypeRef> kept;
  Ref<const types::Op> op;
  std::unique_ptr<comm::PersistentCollective> prepared;
};

}  // namespace

Code keep_call(comm::Communicator& comm, const comm::CollCall& call, MPI_Request* request) {
  const auto kept = take_for_others([&] { return std::make_shared<KeptCall>(call); });
  auto prepared = comm::PersistentCollective::make(comm, kept->call);
  if (!prepared) return note(prepared);
  kept->prepared = std::move(*prepared);
  return take_for_others([&] {
    return give_persistent(
        comm, [kept] { return kept->prepared->start(); }, request);
  });
}

}  // namespace tutti::mpi
