// Messages of GPU memory whose data wait for the default stream, which stands still until a later
// message has come to their receiver and been answered: nobody is held up, and they match in the
// order in which they were sent.
#include <unistd.h>

#include <atomic>
#include <memory>

#include "area.h"

using namespace ranks;
using gpu::Kind;

namespace {

enum class Form { plain, synchronous, persistent, partitioned };

struct Message {
  Kind kind;
  Form form;
  bool is_dense;  // else every second int
  int count;      // of ints
  bool is_early;  // its receive
  int to;
};

MPI_Datatype sparse(int count) {
  MPI_Datatype type;
  MPI_Type_vector(count, 1, 2, MPI_INT, &type);
  MPI_Type_commit(&type);
  return type;
}

// The GPU's memory of one end, and what the default stream puts there.
class Content {
 public:
  Content(const Message& message, Kind kind)
      : message_(message),
        bytes_(sizeof(int) * static_cast<std::size_t>(message.count) * (message.is_dense ? 1 : 2)),
        area_(bytes_, kind),
        mirror_(bytes_, Kind::pinned),
        type_(message.is_dense ? MPI_DATATYPE_NULL : sparse(message.count)) {
    put(-1);
    CU(cuStreamSynchronize(nullptr));
  }
  ~Content() {
    if (!message_.is_dense) MPI_Type_free(&type_);
  }
  Content(const Content&) = delete;
  Content& operator=(const Content&) = delete;
  void put(int first) {
    for (int i = 0; i < message_.count; ++i) ints()[place(i)] = first < 0 ? -1 : first + i;
    CU(cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(area_.data()),
                     reinterpret_cast<CUdeviceptr>(mirror_.data()), bytes_, nullptr));
  }
  bool has(int first) {
    area_.get(mirror_.data(), bytes_);
    for (int i = 0; i < message_.count; ++i)
      if (ints()[place(i)] != first + i) return false;
    return true;
  }
  void* data() const { return area_.data(); }
  int count() const { return message_.is_dense ? message_.count : 1; }
  MPI_Datatype type() const { return message_.is_dense ? MPI_INT : type_; }

 private:
  int* ints() const { return static_cast<int*>(mirror_.data()); }
  std::size_t place(int i) const { return static_cast<std::size_t>(message_.is_dense ? i : 2 * i); }
  Message message_;
  std::size_t bytes_;
  gpu::Area area_, mirror_;
  MPI_Datatype type_;
};

std::atomic<bool> goes_on{false};

void stand() {
  goes_on.store(false);
  const auto wait = [](void*) {
    while (!goes_on.load()) ::usleep(100);
  };
  CU(cuLaunchHostFunc(nullptr, wait, nullptr));
}

class Send {
 public:
  Send(const Message& message, const Content& from, MPI_Comm comm) : form_(message.form) {
    const int to = message.to;
    const MPI_Datatype type = from.type();
    if (form_ == Form::plain) MPI_Isend(from.data(), from.count(), type, to, 1, comm, &request_);
    if (form_ == Form::synchronous)
      MPI_Issend(from.data(), from.count(), type, to, 1, comm, &request_);
    if (form_ == Form::persistent)
      MPI_Send_init(from.data(), from.count(), type, to, 1, comm, &request_);
    if (form_ == Form::partitioned)
      MPI_Psend_init(from.data(), 1, from.count(), type, to, 1, comm, MPI_INFO_NULL, &request_);
    if (is_kept()) MPI_Start(&request_);
    if (form_ == Form::partitioned) MPI_Pready(0, request_);
  }
  Send(const Send&) = delete;
  Send& operator=(const Send&) = delete;
  ~Send() {
    MPI_Wait(&request_, MPI_STATUS_IGNORE);
    if (is_kept()) MPI_Request_free(&request_);
  }

 private:
  bool is_kept() const { return form_ == Form::persistent || form_ == Form::partitioned; }
  const Form form_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

MPI_Request begin_receive(const Message& message, const Content& into, MPI_Comm comm) {
  MPI_Request request;
  if (message.form == Form::partitioned) {
    MPI_Precv_init(into.data(), 1, into.count(), into.type(), 0, 1, comm, MPI_INFO_NULL, &request);
    MPI_Start(&request);
  } else {
    MPI_Irecv(into.data(), into.count(), into.type(), 0, 1, comm, &request);
  }
  return request;
}

void end_receive(const Message& message, MPI_Request* request, int bytes) {
  MPI_Status status;
  MPI_Wait(request, &status);
  int came = 0;
  MPI_Get_count(&status, MPI_BYTE, &came);
  if (message.form == Form::partitioned)
    MPI_Request_free(request);
  else
    CHECK(came == bytes);
}

// What comes behind it: one of its own tag, one of another.
void follow(const Message& message, MPI_Comm comm) {
  static const int word[] = {5, 6};
  MPI_Request both[2];
  MPI_Isend(&word[0], 1, MPI_INT, message.to, 1, comm, &both[0]);
  MPI_Isend(&word[1], 1, MPI_INT, message.to, 2, comm, &both[1]);
  if (message.to == rank) {
    MPI_Request_free(&both[0]);
    MPI_Request_free(&both[1]);
    return;
  }
  MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
}

struct Receiver {
  Receiver(const Message& to_come, MPI_Comm over)
      : message(to_come),
        comm(over),
        into(message, message.is_early ? Kind::device : Kind::host),
        bytes(message.count * static_cast<int>(sizeof(int))) {
    if (message.is_early) request = begin_receive(message, into, comm);
  }
  // Until what comes behind it is here.
  void meet() {
    int word = 0;
    MPI_Recv(&word, 1, MPI_INT, 0, 2, comm, MPI_STATUS_IGNORE);
    CHECK(word == 6);
    if (!message.is_early && message.form != Form::partitioned) {
      MPI_Status status;
      int coming = 0;
      MPI_Probe(0, 1, comm, &status);
      MPI_Get_count(&status, MPI_BYTE, &coming);
      CHECK(coming == bytes);
    }
    if (!message.is_early) request = begin_receive(message, into, comm);
    MPI_Recv(&word, 1, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE);
    CHECK(word == 5);
  }
  void end(int first) {
    end_receive(message, &request, bytes);
    CHECK(into.has(first));
  }
  const Message message;
  const MPI_Comm comm;
  Content into;
  const int bytes;
  MPI_Request request = MPI_REQUEST_NULL;
};

// Once with a stream that does not stand still, so that what is made for a first message is there.
void exchange(const Message& message, MPI_Comm comm) {
  for (const bool stands : {false, true}) {
    const int first = stands ? 1000 : 7;
    if (rank == 0) {
      Content from(message, message.kind);
      std::unique_ptr<Receiver> own;
      if (message.to == 0) own = std::make_unique<Receiver>(message, comm);
      MPI_Barrier(comm);
      if (stands) stand();
      from.put(first);
      {
        const Send send(message, from, comm);
        follow(message, comm);
        if (own != nullptr)
          own->meet();
        else
          MPI_Recv(nullptr, 0, MPI_INT, 1, 3, comm, MPI_STATUS_IGNORE);
        goes_on.store(true);
        if (own != nullptr) own->end(first);
      }
    } else {
      std::unique_ptr<Receiver> receiver;
      if (message.to == rank) receiver = std::make_unique<Receiver>(message, comm);
      MPI_Barrier(comm);
      if (receiver == nullptr) continue;
      receiver->meet();
      MPI_Send(nullptr, 0, MPI_INT, 0, 3, comm);
      receiver->end(first);
    }
  }
}

// Cancelled while its stream stands still, before anybody has it.
void cancel(int count) {
  Message message{Kind::device, Form::synchronous, true, count, false, 1};
  Content from(message, Kind::device);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    stand();
    MPI_Request request;
    MPI_Issend(from.data(), count, MPI_INT, 1, 1, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    goes_on.store(true);
    MPI_Status status;
    MPI_Wait(&request, &status);
    int is_cancelled = 0;
    MPI_Test_cancelled(&status, &is_cancelled);
    CHECK(is_cancelled != 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  int flag = 1;
  if (rank == 1) MPI_Iprobe(0, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  CHECK(rank != 1 || flag == 0);
}

}  // namespace

int main() {
  begin();
  gpu::begin();
  for (const int to : {1, 0})
    for (const Kind kind : {Kind::device, Kind::managed})
      for (const Form form : {Form::plain, Form::synchronous, Form::persistent, Form::partitioned})
        for (const bool is_dense : {true, false})
          for (const int count : {2, 700, 20'000, 400'000, 6'000'000})
            for (const bool is_early : {true, false}) {
              // Long ones take long here.
              if (count > 100'000 && (is_early || form != Form::plain)) continue;
              exchange({kind, form, is_dense, count, is_early, to}, MPI_COMM_WORLD);
            }
  for (const int count : {2, 700, 20'000, 400'000}) cancel(count);
  return done();
}
