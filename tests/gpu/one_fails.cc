// One rank's GPU memory is of no use, the others' is there: nobody waits for it, who would have had
// its data is told, and all go on. "freed": it was; "fails": the driver fails in that rank
// (STANDIN_CUDA_FAIL), whose error may be any then. "unseen": freed before any call was given it.
#include "area.h"

using namespace ranks;
using gpu::is_refused;
using gpu::Kind;

namespace {

class OneFails {
 public:
  OneFails(bool is_freed, bool is_known) : is_freed_(is_freed) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int at = 0;
    if (is_known) MPI_Pack(data_, 1, MPI_INT, host_.data(), 4, &at, MPI_COMM_WORLD);
    if (is_freed_ && is_bad_) memory_.area().free();
  }
  void collectives(int n);
  void calls_begun(int n);
  void messages(int n);
  void goes_on() {
    std::vector<int> ones(100, 1), sums(100);
    CHECK(MPI_Allreduce(ones.data(), sums.data(), 100, MPI_INT, MPI_SUM, MPI_COMM_WORLD) ==
          MPI_SUCCESS);
    CHECK(sums == std::vector<int>(100, size));
    if (!is_freed_) return;
    good_.put(std::vector<int>(space(), 1));
    MPI_Allreduce(MPI_IN_PLACE, into_, kMost, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(good_.get()[kMost - 1] == size);
  }

  static constexpr int kMost = 60000;

 private:
  static std::size_t space() { return static_cast<std::size_t>(kMost * size); }
  void told(int code, bool takes_from_it) const {
    if (is_bad_)
      CHECK(is_freed_ ? is_refused(code) : code != MPI_SUCCESS);
    else
      CHECK((code != MPI_SUCCESS) == takes_from_it);
  }
  void root_told(int code) const {  // who takes nothing may have heard of it, too
    if (is_bad_ || rank == 0) told(code, true);
  }
  // So may all where messages carry a collective, by way of others.
  void begun_told(int code, bool takes_from_it) const {
    if (code == MPI_SUCCESS) code = MPI_Wait(&request_, MPI_STATUS_IGNORE);
    if (is_bad_ || takes_from_it) CHECK(code != MPI_SUCCESS);
  }
  void receive(int n, int tag) {
    std::vector<int> in(static_cast<std::size_t>(n), -1);
    CHECK(MPI_Recv(in.data(), n, MPI_INT, size - 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE) !=
          MPI_SUCCESS);
  }
  void send(int n);

  const bool is_freed_, is_bad_ = rank == size - 1;
  gpu::Vector<int> memory_{std::vector<int>(space(), 7), Kind::device},
      good_{std::vector<int>(space()), Kind::device};
  int *const data_ = memory_.data(), *const into_ = good_.data();
  std::vector<int> host_ = std::vector<int>(space());
  mutable MPI_Request request_ = MPI_REQUEST_NULL;
};

void OneFails::collectives(int n) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  int *const data = data_, *const into = into_;
  const std::vector<int> counts(static_cast<std::size_t>(size), n);
  std::vector<int> places;
  for (int i = 0; i < size; ++i) places.push_back(i * n);
  told(MPI_Bcast(data, n, MPI_INT, size - 1, comm), true);
  told(MPI_Bcast(data, n, MPI_INT, 0, comm), false);
  told(MPI_Allreduce(data, into, n, MPI_INT, MPI_SUM, comm), true);
  root_told(MPI_Reduce(data, into, n, MPI_INT, MPI_SUM, 0, comm));
  told(MPI_Reduce_scatter_block(data, into, n, MPI_INT, MPI_SUM, comm), true);
  told(MPI_Scan(data, into, n, MPI_INT, MPI_SUM, comm), false);
  root_told(MPI_Gather(data, n, MPI_INT, into, n, MPI_INT, 0, comm));
  told(MPI_Scatter(data, n, MPI_INT, into, n, MPI_INT, size - 1, comm), true);
  told(MPI_Allgather(data, n, MPI_INT, into, n, MPI_INT, comm), true);
  told(MPI_Alltoall(data, n, MPI_INT, into, n, MPI_INT, comm), true);
  root_told(MPI_Gatherv(data, n, MPI_INT, into, counts.data(), places.data(), MPI_INT, 0, comm));
  told(MPI_Allgatherv(data, n, MPI_INT, into, counts.data(), places.data(), MPI_INT, comm), true);
  told(MPI_Alltoallv(data, counts.data(), places.data(), MPI_INT, into, counts.data(),
                     places.data(), MPI_INT, comm),
       true);
}

void OneFails::calls_begun(int n) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  MPI_Request* const r = &request_;
  int *const data = data_, *const into = into_;
  begun_told(MPI_Ibcast(data, n, MPI_INT, size - 1, comm, r), true);
  begun_told(MPI_Iallreduce(data, into, n, MPI_INT, MPI_SUM, comm, r), true);
  begun_told(MPI_Ireduce(data, into, n, MPI_INT, MPI_SUM, 0, comm, r), rank == 0);
  begun_told(MPI_Igather(data, n, MPI_INT, into, n, MPI_INT, 0, comm, r), rank == 0);
  begun_told(MPI_Iscatter(data, n, MPI_INT, into, n, MPI_INT, size - 1, comm, r), true);
  begun_told(MPI_Iallgather(data, n, MPI_INT, into, n, MPI_INT, comm, r), true);
  begun_told(MPI_Ialltoall(data, n, MPI_INT, into, n, MPI_INT, comm, r), true);
  begun_told(MPI_Ireduce_scatter_block(data, into, n, MPI_INT, MPI_SUM, comm, r), true);
  begun_told(MPI_Iscan(data, into, n, MPI_INT, MPI_SUM, comm, r), false);
}

// By each sort of send there is.
void OneFails::send(int n) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  CHECK(MPI_Send(data_, n, MPI_INT, 0, 1, comm) != MPI_SUCCESS);
  CHECK(MPI_Ssend(data_, n, MPI_INT, 0, 2, comm) != MPI_SUCCESS);
  MPI_Send_init(data_, n, MPI_INT, 0, 3, comm, &request_);
  CHECK(MPI_Start(&request_) != MPI_SUCCESS ||
        MPI_Wait(&request_, MPI_STATUS_IGNORE) != MPI_SUCCESS);
  MPI_Request_free(&request_);
  std::vector<char> room(static_cast<std::size_t>(n) * sizeof(int) + MPI_BSEND_OVERHEAD);
  MPI_Buffer_attach(room.data(), static_cast<int>(room.size()));
  CHECK(MPI_Bsend(data_, n, MPI_INT, 0, 4, comm) != MPI_SUCCESS);
  void* detached = nullptr;
  int bytes = 0;
  MPI_Buffer_detach(&detached, &bytes);
  MPI_Psend_init(data_, 2, n / 2, MPI_INT, 0, 6, comm, MPI_INFO_NULL, &request_);
  MPI_Start(&request_);
  for (const int part : {1, 0}) MPI_Pready(part, request_);
  CHECK(MPI_Wait(&request_, MPI_STATUS_IGNORE) != MPI_SUCCESS);
  MPI_Request_free(&request_);
}

void OneFails::messages(int n) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  if (is_bad_) send(n);
  if (rank == 0) {
    for (const int tag : {1, 2, 3, 4}) receive(n, tag);
    std::vector<int> in(static_cast<std::size_t>(n), -1);
    MPI_Precv_init(in.data(), 1, n, MPI_INT, size - 1, 6, comm, MPI_INFO_NULL, &request_);
    MPI_Start(&request_);
    CHECK(MPI_Wait(&request_, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    MPI_Request_free(&request_);
  }
  for (const bool waits : {true, false}) {
    if (rank == 0)
      CHECK(MPI_Sendrecv(host_.data(), n, MPI_INT, size - 1, 5, into_, n, MPI_INT, size - 1, 5,
                         comm, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    if (is_bad_ && waits)
      CHECK(MPI_Sendrecv_replace(data_, n, MPI_INT, 0, 5, 0, 5, comm, MPI_STATUS_IGNORE) !=
            MPI_SUCCESS);
    if (is_bad_ && !waits)
      CHECK(MPI_Isendrecv_replace(data_, n, MPI_INT, 0, 5, 0, 5, comm, &request_) != MPI_SUCCESS ||
            MPI_Wait(&request_, MPI_STATUS_IGNORE) != MPI_SUCCESS);
  }
}

void fails_on_one(bool is_freed, bool is_known) {
  OneFails one(is_freed, is_known);
  for (const int n : {1, 3000, OneFails::kMost}) {
    one.collectives(n);
    one.calls_begun(n);
  }
  for (const int n : {100, OneFails::kMost}) one.messages(n);
  one.goes_on();
}

}  // namespace

int main(int argc, char** argv) {
  begin();
  gpu::begin();
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "freed") fails_on_one(true, true);
  if (what == "unseen") fails_on_one(true, false);
  if (what == "fails") fails_on_one(false, false);
  return done();
}
