// New communicators: who is in them, and that their messages are their own.
#include <thread>

#include "comm/agree.h"
#include "comm/meeting.h"
#include "comm/runtime.h"
#include "reference.h"

namespace {

using namespace tutti;
using comm::CommRef;
using comm::Comparison;
using reference::Trial;
using test::Rank;

bool sums_right(comm::Communicator& comm) {
  Trial trial(comm, {coll::Collective::allreduce, 3, 0, false, nullptr});
  return comm::run(comm, trial.call()) == Code::ok && trial.check();
}

const types::Datatype& integer() {
  return *types::predefined_type(reference::kInt);
}

// The leader of a group, by hand: it swaps so many words, then gives up.
void lead_badly(const Rank& me, int swaps, int tag) {
  p2p::Endpoint& endpoint = me.world.endpoint();
  p2p::Envelope mine{me.comm.coll_context(), p2p::as_job_rank(me.rank), tag, 0};
  const p2p::Envelope theirs{me.comm.coll_context(), p2p::as_job_rank(0), tag, 0};
  const std::size_t bytes[] = {sizeof(std::int64_t), sizeof(int)};  // how many there are, and who
  const std::int64_t size = 1;
  std::int64_t words[3] = {};
  for (int i = 0; i <= swaps; ++i) {
    if (i == swaps) mine.gave_up = p2p::GaveUp::failed;
    const void* const said = i == 0 ? static_cast<const void*>(&size) : &me.rank;
    const auto length = static_cast<types::Count>(i == swaps ? 0 : bytes[i]);
    p2p::Pending* const sent = endpoint.send(p2p::Mode::standard, 0, mine,
                                             types::Buffer::plain(const_cast<void*>(said), length));
    endpoint.wait(sent);
    endpoint.release(sent);
    endpoint.recv_now(0, theirs, types::Buffer::plain(words, sizeof words));
  }
}

}  // namespace

TEST_CASE("what a leader meets it tells its group", "[comm][create]") {
  for (const int swaps : {0, 1, 2})
    test::run_ranks(test::one_host(3), [swaps](const Rank& me) {
      constexpr int kTag = 7;
      const CommRef part = *comm::split(me.comm, me.rank == 2 ? 1 : 0, 0);
      if (me.rank == 2) return lead_badly(me, swaps, kTag);
      const auto made = comm::create_inter(*part, {0, &me.comm, 2, kTag});
      me.expect(!made && made.error().code == Code::other, "the other side gave up");
    });
}

// As a call that failed may leave one behind.
TEST_CASE("a list of members is not taken for their number", "[comm][create]") {
  test::run_ranks(test::one_host(3), [](const Rank& me) {
    constexpr int kTag = 7;
    const CommRef part = *comm::split(me.comm, me.rank == 2 ? 1 : 0, 0);
    if (me.rank != 2) {
      const auto made = comm::create_inter(*part, {0, &me.comm, 2, kTag});
      return me.expect(!made && made.error().code == Code::truncate, "that was no number");
    }
    p2p::Endpoint& endpoint = me.world.endpoint();
    int list[] = {0, 1, 2};
    const p2p::Envelope mine{me.comm.coll_context(), p2p::as_job_rank(me.rank), kTag, 0};
    endpoint.release(
        endpoint.send(p2p::Mode::standard, 0, mine, types::Buffer::plain(list, sizeof list)));
    endpoint.recv_now(0, {me.comm.coll_context(), p2p::as_job_rank(0), kTag, 0},
                      types::Buffer::plain(list, sizeof list));
  });
}

TEST_CASE("a nonblocking duplicate for which no number is left says so", "[comm][create]") {
  for (const int ranks : {1, 2})
    test::run_ranks(test::one_host(ranks), [](const Rank& me) {
      comm::Runtime& runtime = me.comm.runtime();
      while (runtime.contexts.take_alone()) continue;
      CommRef copy;
      comm::Request* const request = *comm::start_dup(me.comm, &copy);
      comm::wait(runtime, *request);
      const std::string why = request->reason().text;
      me.expect(why.find("no more can be made") != std::string::npos, why);
      request->release();
    });
}

TEST_CASE("members of a group that name different leaders are told", "[comm][create]") {
  test::run_ranks(test::one_host(2), [](const Rank& me) {
    const auto made = comm::create_inter(me.comm, {me.rank, &me.comm, 1 - me.rank, 7});
    me.expect(!made && made.error().text.find("its ranks 0 and 1") != std::string::npos, "named");
    me.expect(comm::take_reason(me.comm.runtime()).is_mismatch, "it is a mismatch");
  });
}

// Rank 0 names another leader than rank 1 does; both hold themselves for it, as rank 2 then finds.
TEST_CASE("a side that fails by itself says so to the other, which can try again",
          "[comm][create]") {
  test::run_ranks(test::one_host(3), [](const Rank& me) {
    constexpr int kTag = 7;
    const CommRef part = *comm::split(me.comm, me.rank == 2 ? 1 : 0, 0);
    for (const int wrong : {1, 1, 0}) {
      const int leader = wrong != 0 && me.rank == 1 ? 1 : 0;
      const auto made = comm::create_inter(*part, {leader, &me.comm, me.rank == 2 ? 0 : 2, kTag});
      me.expect(made.has_value() == (wrong == 0), "fails on both sides, or on none");
      if (made) continue;
      const bool heard_of_it = comm::take_reason(me.comm.runtime()).failed_there;
      me.expect(heard_of_it == (me.rank == 2), "who knows why");
    }
    // What rank 1 said as a leader lies there still.
    const comm::Bridge bridge{me.rank == 2 ? 0 : 1, &me.comm, me.rank == 2 ? 1 : 2, kTag};
    me.expect(comm::create_inter(*part, bridge).has_value(), "the other leader, at once");
  });
}

// Rank 1 makes another call than rank 0, the leader of both: they cannot ask who leads.
TEST_CASE("a leader whose group cannot meet says so to the other side", "[comm][create]") {
  test::run_ranks(test::one_host(3), [](const Rank& me) {
    constexpr int kTag = 7;
    const CommRef part = *comm::split(me.comm, me.rank == 2 ? 1 : 0, 0);
    const comm::Bridge bridge{0, &me.comm, me.rank == 2 ? 0 : 2, kTag};
    if (me.rank == 1) {
      std::int64_t words[2] = {};
      const comm::Meeting other = comm::meeting_on(*part, watch::Purpose::asks);
      me.expect(other.allreduce_max(words) != Code::ok, "another call");
    } else {
      const auto made = comm::create_inter(*part, bridge);
      me.expect(!made && made.error().code == Code::other, "fails on both sides");
    }
    const bool heard_of_it = comm::take_reason(me.comm.runtime()).failed_there;
    if (me.rank == 2) me.expect(heard_of_it, "the other side knows why");
    me.expect(comm::create_inter(*part, bridge).has_value(), "the next attempt");
  });
}

// As a side does that fails when the other has heard all of its words.
TEST_CASE("a leader that gives up an intercommunicator late does not end the next one's making",
          "[comm][create]") {
  test::run_ranks(test::one_host(2), [](const Rank& me) {
    constexpr int kTag = 7;
    const CommRef part = *comm::split(me.comm, me.rank, 0);
    const comm::Bridge bridge{0, &me.comm, 1 - me.rank, kTag};
    me.expect(comm::create_inter(*part, bridge).has_value(), "the first");
    if (me.rank == 1) comm::give_up_word(me.comm.runtime(), 0, {me.comm.coll_context(), kTag});
    me.expect(comm::create_inter(*part, bridge).has_value(), "the next");
  });
}

TEST_CASE("a duplicate is congruent and its messages do not meet the parent's", "[comm][create]") {
  test::run_ranks(test::one_host(3), [](const Rank& me) {
    const CommRef copy = *comm::dup(me.comm);
    me.expect(comm::compare(me.comm, *copy) == Comparison::congruent, "congruent");
    me.expect(comm::compare(*copy, *copy) == Comparison::identical, "identical");
    const int right = (me.rank + 1) % me.size, left = (me.rank + me.size - 1) % me.size;
    const int first = 1, second = 2;
    comm::send(*copy, p2p::Mode::standard, &first, 1, integer(), right, 0);
    comm::send(me.comm, p2p::Mode::standard, &second, 1, integer(), right, 0);
    int got = 0;
    comm::recv(me.comm, &got, 1, integer(), left, p2p::kAnyTag);
    me.expect(got == second, "the parent's message");
    comm::recv(*copy, &got, 1, integer(), left, p2p::kAnyTag);
    me.expect(got == first, "the copy's message");
  });
}

TEST_CASE("split orders by key, then by rank, and leaves out who is undefined", "[comm][create]") {
  test::run_ranks(test::one_host(7), [](const Rank& me) {
    const bool out = me.rank == 6;
    const auto made = comm::split(me.comm, out ? comm::kUndefined : me.rank % 2, -me.rank);
    me.expect(made.has_value() && static_cast<bool>(*made) == !out, "member or not");
    if (out) return;
    comm::Communicator& part = **made;
    me.expect(part.size() == 3 && part.rank() == (4 + me.rank % 2 - me.rank) / 2, "order");
    me.expect(sums_right(part), "works");
    const auto equal = comm::split(part, 0, 0);
    me.expect((*equal)->rank() == part.rank(), "equal keys keep the order");
  });
}

TEST_CASE("create makes a communicator of some of the ranks", "[comm][create]") {
  test::run_ranks(test::one_host(5), [](const Rank& me) {
    const int some[] = {4, 1, 2};
    const comm::GroupRef group = *comm::include(me.comm.group(), some);
    const auto made = comm::create(me.comm, *group);
    const bool in = group->rank_of(me.rank) != comm::kUndefined;
    me.expect(made.has_value() && static_cast<bool>(*made) == in, "member or not");
    if (in) me.expect((*made)->rank() == group->rank_of(me.rank) && sums_right(**made), "works");
  });
}

TEST_CASE("create_group needs its members only", "[comm][create]") {
  test::run_ranks(test::one_host(5), [](const Rank& me) {
    for (int round = 0; round < 20; ++round) {
      const int some[] = {3, 0, 1};
      const comm::GroupRef group = *comm::include(me.comm.group(), some);
      if (group->rank_of(me.rank) == comm::kUndefined) continue;
      const auto made = comm::create_group(me.comm, *group, 1234567 + round);
      me.expect(made.has_value() && (*made)->size() == 3 && sums_right(**made), "works");
    }
  });
}

TEST_CASE("who wants to be with nobody takes part in a split by place", "[comm][create]") {
  using By = comm::SplitWish::By;
  test::run_ranks(test::one_host(4), [](const Rank& me) {
    for (const comm::SplitWish& wish :
         {comm::SplitWish{By::color, 5}, comm::SplitWish{By::level, 0, comm::Level::host},
          comm::SplitWish{By::inside}}) {
      const auto made = comm::split_by(me.comm, me.rank == 1 ? comm::SplitWish{} : wish, 0);
      me.expect(made.has_value(), "split");
      if (me.rank == 1) me.expect(!*made, "stays away");
      if (me.rank != 1 && wish.by != By::inside)
        me.expect((*made)->size() == 3 && sums_right(**made), "the others");
    }
  });
}

TEST_CASE("hosts are told apart when communicators are made", "[comm][create][hosts]") {
  test::run_ranks({0, 1, 0, 1, 1}, [](const Rank& me) {
    const int mine = me.rank % 2 == 1 || me.rank == 4 ? 1 : 0;
    const auto host = comm::split_by(me.comm, {comm::SplitWish::By::color, mine}, me.rank);
    me.expect(host.has_value() && (*host)->size() == (me.rank % 2 == 1 || me.rank == 4 ? 3 : 2),
              "those of the host");
    me.expect(sums_right(**host), "works inside");
    const auto turned = comm::split(me.comm, 0, -me.rank);
    me.expect((*turned)->rank() == 4 - me.rank && sums_right(**turned), "works across");
    const int some[] = {4, 0};
    const comm::GroupRef group = *comm::include(me.comm.group(), some);
    const auto pair = comm::create(me.comm, *group);
    if (*pair) me.expect(sums_right(**pair), "works for a pair");
  });
}

TEST_CASE("communicators are made and freed by the thousand, and numbers return",
          "[comm][create]") {
  test::run_ranks(test::one_host(3), [](const Rank& me) {
    std::vector<CommRef> kept;
    for (int round = 0; round < 2000; ++round) {
      auto made = comm::dup(me.comm);
      me.expect(made.has_value(), "dup");
      if (!made) return;
      me.expect((*made)->context() < 400, "numbers are used again");
      if (round % 97 == 0) me.expect(sums_right(**made), "works");
      if (round % 20 == 0) kept.push_back(std::move(*made));
    }
    for (const CommRef& comm : kept) me.expect(sums_right(*comm), "kept ones work");
  });
}

TEST_CASE("a communicator may be let go while a collective runs on it", "[comm][create]") {
  test::run_ranks(test::one_host(3), [](const Rank& me) {
    for (int round = 0; round < 50; ++round) {
      CommRef made = *comm::dup(me.comm);
      Trial trial(*made, {coll::Collective::allreduce, 20000, 0, false, nullptr});
      comm::Request* request = *comm::start(*made, trial.call());
      comm::Runtime& runtime = made->runtime();
      made.reset();
      comm::wait(runtime, *request);
      me.expect(trial.check(), "result");
      request->release();
    }
  });
}

TEST_CASE("threads make communicators at the same time", "[comm][create][threads]") {
  const auto body = [](const Rank& me) {
    me.world.enter();
    const CommRef first = *comm::dup(me.comm), second = *comm::dup(me.comm);
    me.world.leave();
    const auto make = [&me](comm::Communicator& parent) {
      for (int round = 0; round < 30; ++round) {
        me.world.enter();
        {
          const auto made = comm::dup(parent);
          me.expect(made.has_value() && sums_right(**made), "dup in a thread");
        }
        me.world.leave();
      }
    };
    std::thread other([&] { make(*second); });
    make(*first);
    other.join();
  };
  test::run_ranks(test::one_host(2), body, Knobs::defaults(), world::ThreadLevel::multiple);
}
