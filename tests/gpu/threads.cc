// Threads with GPU memory of all kinds: messages, sums and partitioned messages, each on a
// communicator of its own, and calls in a stream that the default stream waits for, all at once.
// No memory comes or goes while that stream may stand still: the driver waits for it then. If no
// thread of a rank goes on, a line says where each of them is, and stacks follow.
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "stacks.h"
#include "stream_area.h"

using namespace ranks;
using gpu::Flow;
using gpu::Kind;
using gpu::Lane;
using gpu::left;
using gpu::numbers;
using gpu::right;

namespace {

constexpr int kRounds = 30;

// Where the threads are. Told once, when they have stood there for so long.
class Places {
 public:
  enum Thread { first, second, in_stream, threads };

  Places() : teller_([this] { tell(); }) {}
  ~Places() {
    {
      const std::scoped_lock hold(mutex_);
      is_over_ = true;
    }
    ends_.notify_one();
    teller_.join();
  }
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;
  void enter(Thread thread, int round, const char* what) {
    const std::scoped_lock hold(mutex_);
    places_[thread] = {round, what};
    ++moves_;
  }

 private:
  struct Place {
    int round = 0;
    const char* what = "its beginning";
  };
  void tell() {
    constexpr auto kLong = std::chrono::seconds(8);
    std::unique_lock hold(mutex_);
    for (unsigned long long seen = moves_;
         !ends_.wait_for(hold, kLong, [this] { return is_over_; }); seen = moves_)
      if (seen == moves_ && !std::exchange(is_told_, true)) {
        std::fprintf(stderr,
                     "rank %d stands still: the first thread in round %d, %s; the second in round "
                     "%d, %s; that of the stream in round %d, %s\n",
                     rank, places_[first].round, places_[first].what, places_[second].round,
                     places_[second].what, places_[in_stream].round, places_[in_stream].what);
        hold.unlock();  // whoever goes on now shall not wait for us
        std::this_thread::sleep_for(std::chrono::seconds(rank));  // one rank after the other
        gpu::print_stacks();
        hold.lock();
      }
  }

  std::mutex mutex_;
  std::condition_variable ends_;
  bool is_over_ = false, is_told_ = false;
  unsigned long long moves_ = 0;
  Place places_[threads];
  std::thread teller_;
};

// One thread's.
class Steps {
 public:
  Steps(Places& places, Places::Thread thread) : places_(places), thread_(thread) {}
  void begin_round(int round) { round_ = round; }
  void operator()(const char* what) { places_.enter(thread_, round_, what); }

 private:
  Places& places_;
  const Places::Thread thread_;
  int round_ = 0;
};

void in_parts(gpu::Vector<int>& out, gpu::Vector<int>& in, int count, MPI_Comm comm, Steps& step) {
  MPI_Request both[2];
  step("MPI_Psend_init");
  MPI_Psend_init(out.data(), 1, count, MPI_INT, right(), 3, comm, MPI_INFO_NULL, &both[0]);
  MPI_Precv_init(in.data(), 1, count, MPI_INT, left(), 3, comm, MPI_INFO_NULL, &both[1]);
  step("MPI_Startall");
  MPI_Startall(2, both);
  step("MPI_Pready");
  MPI_Pready(0, both[0]);
  step("MPI_Waitall of parts");
  MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
  step("MPI_Request_free");
  for (MPI_Request& each : both) MPI_Request_free(&each);
}

// What a round sends and receives, and how much: the same draws on all ranks.
struct Round {
  int count;
  gpu::Vector<int> out, in;
  Round(int of, Kind kind) : count(of), out(content(of), kind), in(content(of), kind) {}
  static std::vector<int> content(int of) { return std::vector<int>(static_cast<std::size_t>(of)); }
};
void prepare(std::deque<Round>& rounds, unsigned seed) {
  std::mt19937 draw(seed);
  for (int round = 0; round < kRounds; ++round) {
    const int count = 1 << draw() % 16;
    const auto kind = static_cast<Kind>(draw() % gpu::kKinds);
    rounds.emplace_back(count, kind == Kind::other_device ? Kind::device : kind);
  }
}

void ordinary(MPI_Comm comm, std::deque<Round>& rounds, Steps step) {
  CU(cuCtxSetCurrent(gpu::contexts[0]));
  int number = 0;
  for (Round& round : rounds) {
    step.begin_round(number++);
    const int count = round.count;
    const auto size_of = static_cast<std::size_t>(count);
    gpu::Vector<int>&out = round.out, &in = round.in;
    step("its copies to the GPU before MPI_Irecv");
    out.put(numbers(size_of, rank));
    MPI_Request both[2];
    step("MPI_Irecv");
    MPI_Irecv(in.data(), count, MPI_INT, left(), 1, comm, &both[0]);
    step("MPI_Isend");
    MPI_Isend(out.data(), count, MPI_INT, right(), 1, comm, &both[1]);
    step("MPI_Waitall");
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    step("its copies before MPI_Allreduce");
    CHECK(in.get() == numbers(size_of, left()));
    out.put(std::vector<int>(size_of, 1));
    step("MPI_Allreduce");
    MPI_Allreduce(out.data(), in.data(), count, MPI_INT, MPI_SUM, comm);
    step("its copies behind MPI_Allreduce");
    CHECK(in.get() == std::vector<int>(size_of, size));
    out.put(numbers(size_of, rank));
    in_parts(out, in, count, comm, step);
    step("its copy to the host behind parts");
    CHECK(in.get() == numbers(size_of, left()));
  }
  step("its end");
}

void in_stream(const Lane& lane, Steps step) {
  CU(cuCtxSetCurrent(gpu::contexts[0]));
  const int count = 3000;
  Flow<int> in(count, Kind::device), greatest(count, Kind::device);
  for (int round = 0; round < kRounds; ++round) {
    step.begin_round(round);
    step("cuMemAlloc");
    Flow<int> out(count, Kind::device);
    step("its copy in the stream");
    out.put(numbers(count, rank), lane);
    step("MPIX_..._enqueue");
    MPI_Request both[2];
    MPIX_Irecv_enqueue(in.data(), count, MPI_INT, left(), 4, lane.comm, &both[0]);
    MPIX_Isend_enqueue(out.data(), count, MPI_INT, right(), 4, lane.comm, &both[1]);
    MPIX_Waitall_enqueue(2, both, MPI_STATUSES_IGNORE);
    MPIX_Allreduce_enqueue(out.data(), greatest.data(), count, MPI_INT, MPI_MAX, lane.comm);
    step("its copies behind the calls");
    in.take(lane);
    greatest.take(lane);
    step("cuStreamSynchronize");
    lane.wait();
    CHECK(in.taken() == numbers(count, left()));
    CHECK(greatest.taken() == numbers(count, size - 1));
    step("cuMemFree");
  }
  step("its end");
}

}  // namespace

int main() {
  gpu::prepare_stacks();
  begin(MPI_THREAD_MULTIPLE);
  gpu::begin();
  {
    const Lane lane(MPI_COMM_WORLD, CU_STREAM_DEFAULT);
    MPI_Comm comms[2];
    std::vector<std::thread> all;
    std::deque<Round> rounds[2];
    Places places;
    for (MPI_Comm& each : comms) MPI_Comm_dup(MPI_COMM_WORLD, &each);
    for (unsigned i = 0; i < 2; ++i) prepare(rounds[i], i + 1);
    const Steps steps[] = {
        {places, Places::first}, {places, Places::second}, {places, Places::in_stream}};
    for (unsigned i = 0; i < 2; ++i)
      all.emplace_back(ordinary, comms[i], std::ref(rounds[i]), steps[i]);
    all.emplace_back(in_stream, std::cref(lane), steps[2]);
    for (std::thread& each : all) each.join();
    for (MPI_Comm& each : comms) MPI_Comm_free(&each);
  }
  return done();
}
