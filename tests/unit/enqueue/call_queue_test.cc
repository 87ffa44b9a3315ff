// A queue of calls over a device queue that reaches what it is told to: order, numbers that go
// round, what fails.
#include "enqueue/call_queue.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <numeric>
#include <thread>

#include "ranks.h"

namespace {

using namespace tutti;
using enqueue::CallQueue;
using enqueue::QueuedCall;
using test::Rank;

constexpr Handle kInt = 0x209;

struct Told {
  std::uint32_t reached = 0, passed = 0, marked = 0;
  bool stands_still = false, fails = false, is_lost = false;
  std::function<void()> while_marked = nullptr;
};

class FakeQueue final : public types::DeviceQueue {
 public:
  explicit FakeQueue(Told& told) : told_(told) {}
  Result<void> mark(std::uint32_t number, bool /*waits*/) override {
    if (told_.fails) return fail(Code::unsupported, "as it was told");
    if (told_.while_marked) told_.while_marked();
    told_.marked = number;
    if (!told_.stands_still) told_.reached = number;
    return {};
  }
  std::uint32_t reached() const override { return told_.reached; }
  void pass(std::uint32_t number) override { told_.passed = number; }
  bool is_lost() const override { return told_.is_lost; }
  Result<void> look() const override { return {}; }
  const std::string& name() const override { return name_; }
  void* handle() const override { return nullptr; }
  int device() const override { return 0; }

 private:
  Told& told_;
  const std::string name_ = "a queue";
};

// Messages of a rank to itself.
QueuedCall to_self(const Rank& me, QueuedCall::What what, int* data, int tag) {
  QueuedCall operation = QueuedCall::of_message(what, me.comm, *types::predefined_type(kInt));
  operation.call = "a message";
  operation.data = data;
  operation.count = 1;
  operation.tag = tag;
  return operation;
}

void put(const Rank& me, CallQueue& queue, QueuedCall operation) {
  me.expect(queue.put(operation).has_value(), "put");
}

void numbers_go_round(const Rank& me) {
  enqueue::CallStreams streams(me.world, nullptr);
  Told told{.reached = 0xffff'fff0U};
  CallQueue queue(streams, std::make_unique<FakeQueue>(told));
  for (int i = 0; i < 40; ++i) {
    int sent = i, got = -1;
    comm::Request* const receive =
        comm::irecv(me.comm, &got, 1, *types::predefined_type(kInt), 0, i);
    put(me, queue, to_self(me, QueuedCall::What::send, &sent, i));
    me.expect(queue.is_reached() && streams.is_under_way(), "it is reached");
    queue.begin_reached();
    me.expect(told.passed == 0xffff'fff1U + static_cast<unsigned>(i), "the queue may go on");
    comm::wait(me.comm.runtime(), *receive);
    receive->release();
    me.expect(got == i && queue.is_empty() && !streams.is_under_way(), "nothing is left");
  }
}

// A receive does not pass before its message is there, what is behind it begins when it is reached.
void ends_when_it_has_ended(const Rank& me) {
  enqueue::CallStreams streams(me.world, nullptr);
  Told told{.stands_still = true};
  CallQueue queue(streams, std::make_unique<FakeQueue>(told));
  int got = -1, sent = 7;
  p2p::Status status;
  QueuedCall receive = to_self(me, QueuedCall::What::recv, &got, 1);
  receive.tell = [](void* into, std::size_t, const p2p::Status& said) {
    *static_cast<p2p::Status*>(into) = said;
  };
  receive.statuses = &status;
  put(me, queue, std::move(receive));
  put(me, queue, to_self(me, QueuedCall::What::send, &sent, 2));
  me.expect(!queue.is_reached(), "nothing is reached");
  told.reached = 1;
  queue.begin_reached();
  me.expect(told.passed == 0 && !queue.is_reached(), "the first has begun alone");
  comm::send(me.comm, p2p::Mode::standard, &sent, 1, *types::predefined_type(kInt), 0, 1);
  while (told.passed == 0) comm::progress(me.comm.runtime());
  me.expect(told.passed == 1 && got == 7 && status.tag == 1, "the first has ended");
  told.reached = 2;
  queue.begin_reached();
  comm::recv(me.comm, &got, 1, *types::predefined_type(kInt), 0, 2);
  me.expect(queue.is_empty(), "and the second");
}

void what_fails(const Rank& me) {
  enqueue::CallStreams streams(me.world, nullptr);
  Told told{.fails = true};
  CallQueue queue(streams, std::make_unique<FakeQueue>(told));
  int number = 5;
  QueuedCall kept = to_self(me, QueuedCall::What::recv, &number, 1);
  me.expect(queue.put(kept).error().code == Code::unsupported, "the mark's error");
  me.expect(kept.comm && !streams.is_under_way() && queue.is_empty(), "as if it was never put");
  told = {.stands_still = true};
  comm::Request* request = comm::open_request(me.comm, nullptr);
  kept.request = Ref<comm::Request>::share(request);
  put(me, queue, std::move(kept));
  me.expect(told.marked == 2, "the number of one that failed is not used again");
  put(me, queue, to_self(me, QueuedCall::What::recv, &number, 3));
  queue.lose();
  me.expect(queue.is_empty() && told.passed == 3, "what was not reached is given up");
  me.expect(request->is_done() && request->status().code == Code::other, "its owner is told");
  request->release();
  const auto failure = queue.take_failure();
  me.expect(failure && failure->code == Code::other && !queue.take_failure(),
            "and the next caller");
  me.expect(failure->why.text == "enqueued in a queue: the GPU is lost", failure->why.text);
  QueuedCall late = to_self(me, QueuedCall::What::recv, &number, 3);
  me.expect(!queue.put(late), "nothing can be put any more");
}

// Truncation: told once, in order, and the queue goes on.
void what_is_wrong(const Rank& me) {
  enqueue::CallStreams streams(me.world, nullptr);
  Told told;
  CallQueue queue(streams, std::make_unique<FakeQueue>(told));
  int pair[2] = {1, 2}, got = 0;
  for (int tag = 0; tag < 2; ++tag) {
    comm::Request* const sent =
        comm::isend(me.comm, p2p::Mode::standard, pair, 2, *types::predefined_type(kInt), 0, tag);
    put(me, queue, to_self(me, QueuedCall::What::recv, &got, tag));
    queue.begin_reached();
    while (!queue.is_empty()) comm::progress(me.comm.runtime());
    comm::wait(me.comm.runtime(), *sent);
    sent->release();
  }
  for (int i = 0; i < 2; ++i) {
    const auto failure = queue.take_failure();
    me.expect(failure && failure->code == Code::truncate, "truncated");
  }
  me.expect(told.passed == 2, "the queue goes on");
}

// A stream that is full takes a mark when it has gone on, and that may be for what another stream
// is given only now.
void full_queues(const Rank& me) {
  enqueue::CallStreams streams(me.world, nullptr);
  std::atomic<bool> is_full = false, has_gone_on = false;
  Told full{.while_marked =
                [&] {
                  is_full = true;
                  for (int ms = 0; ms < 20000 && !has_gone_on; ++ms)
                    std::this_thread::sleep_for(std::chrono::milliseconds(1));
                  me.expect(has_gone_on, "the other queue takes a mark meanwhile");
                }},
      free;
  CallQueue queue(streams, std::make_unique<FakeQueue>(full)),
      other(streams, std::make_unique<FakeQueue>(free));
  const auto put_nothing = [&](CallQueue& into) {
    QueuedCall nothing;
    nothing.what = QueuedCall::What::nothing;
    nothing.call = "nothing";
    put(me, into, std::move(nothing));
  };
  std::thread beside([&] { put_nothing(queue); });
  while (!is_full) std::this_thread::yield();
  me.expect(!streams.begin_rest(), "queues do not rest while one is marked");
  put_nothing(other);
  has_gone_on = true;
  beside.join();
  for (CallQueue* each : {&queue, &other}) each->begin_reached();
  me.expect(!streams.is_under_way() && streams.begin_rest(), "and rest when nothing is there");
  streams.end_rest();
}

// The second rank's bcast is of another length than the first one's, which roots it.
void what_differs(const Rank& me) {
  enqueue::CallStreams streams(me.world, nullptr);
  Told told;
  CallQueue queue(streams, std::make_unique<FakeQueue>(told));
  int words[2] = {1, 2};
  comm::CollCall call;
  call.collective = Collective::bcast;
  call.recv = words;
  call.recv_count = me.rank + 1;
  call.recv_type = types::predefined_type(kInt);
  auto made = QueuedCall::of_collective(me.comm, call);
  me.expect(made.has_value(), "it is prepared");
  made->call = "a bcast";
  put(me, queue, std::move(*made));
  queue.begin_reached();
  while (!queue.is_empty()) comm::progress(me.comm.runtime());
  const auto failure = queue.take_failure();
  me.expect(failure.has_value() == (me.rank == 1), "who receives sees it");
  if (failure) me.expect(failure->why.is_mismatch, failure->why.text);
}

}  // namespace

TEST_CASE("numbers go round", "[enqueue]") {
  test::run_ranks({0}, numbers_go_round);
}
TEST_CASE("a queue waits for the end", "[enqueue]") {
  test::run_ranks({0}, ends_when_it_has_ended);
}
TEST_CASE("a mark that fails, and a device that is lost", "[enqueue]") {
  test::run_ranks({0}, what_fails);
}
TEST_CASE("a queue that is full holds up no other one", "[enqueue]") {
  test::run_ranks({0}, full_queues);
}
TEST_CASE("errors are kept for the next caller", "[enqueue]") {
  test::run_ranks({0}, what_is_wrong);
}
TEST_CASE("a mismatch of a call in a queue is known as one", "[enqueue]") {
  test::run_ranks({0, 0}, what_differs);
}
