// Runs: order of messages, chains, begun again, folding order, failures.
#include <cstring>

#include "bench.h"

namespace {

using namespace tutti;
using bench::Member;
using sched::Slice;
using sched::Space;

constexpr Handle kInt = 0x209;

using Ints = std::vector<std::int32_t>;

engine::Block block(Ints& ints) {
  return {ints.data(), static_cast<types::Count>(ints.size() * 4), nullptr};
}

Slice at(Space space, int index, int count = 1) {
  return {space, index * 4, count * 4};
}

// What comes from the left goes on to the right, four times.
void put_ring(sched::Builder& builder, int left, int right) {
  for (int k = 0; k < 4; ++k) {
    builder.send(at(Space::out, k, 1), right);
    builder.recv(at(Space::out, k + 1, 1), left);
  }
}

}  // namespace

TEST_CASE("a program counts the message before to the same peer as a condition", "[engine]") {
  sched::Builder builder;
  builder.recv({Space::out, 0, 1}, 1);
  builder.send({Space::out, 0, 1}, 2);
  builder.send({Space::in, 0, 1}, 2);
  builder.send({Space::in, 0, 1}, 3);
  const engine::Program program(builder.finish());
  CHECK(program.conditions == std::vector<std::uint32_t>{0, 1, 1, 0});
  CHECK(program.next_to_peer[1] == 2);
  CHECK(program.next_to_peer[2] == engine::Program::kNone);
}

TEST_CASE("messages to one peer leave in step order, though later ones are ready first",
          "[engine]") {
  bench::run_members(2, [](const Member& me) {
    sched::Builder builder;
    // Rank 0 sends back what it gets first, then what it has; rank 1 expects that order.
    if (me.rank == 0) {
      builder.recv(at(Space::out, 0), 1);
      builder.send(at(Space::out, 0), 1);
      builder.send(at(Space::in, 0), 1);
    } else {
      builder.send(at(Space::in, 0), 0);
      builder.recv(at(Space::out, 0), 0);
      builder.recv(at(Space::out, 1), 0);
    }
    const auto run =
        std::make_unique<engine::Run>(me.endpoint, me.scratch, bench::program(builder));
    bool good = true;
    for (int round = 0; round < 200; ++round) {
      Ints in{1000 * me.rank + round}, out{-1, -1};
      engine::Binding binding = me.binding(round);
      binding.in.whole = block(in);
      binding.out.whole = block(out);
      run->rebind() = std::move(binding);
      run->begin();
      good = good && engine::wait(me.endpoint, *run) == Code::ok;
      good = good && out[0] == 1000 + round && (me.rank == 0 || out[1] == round);
    }
    return good;
  });
}

TEST_CASE("a chain of a hundred thousand steps needs no stack", "[engine]") {
  bench::run_members(1, [](const Member& me) {
    constexpr int kSteps = 100000;
    sched::Builder builder;
    for (int i = 0; i < kSteps; ++i) {
      builder.send(at(Space::out, i % 2), 0);
      builder.recv(at(Space::out, (i + 1) % 2), 0);
    }
    Ints out{42, 0};
    const auto run =
        std::make_unique<engine::Run>(me.endpoint, me.scratch, bench::program(builder));
    engine::Binding binding = me.binding(0);
    binding.out.whole = block(out);
    run->rebind() = std::move(binding);
    run->begin();
    return engine::wait(me.endpoint, *run) == Code::ok && out[0] == 42 && out[1] == 42;
  });
}

TEST_CASE("a run is begun again with the same binding", "[engine]") {
  bench::run_members(2, [](const Member& me) {
    const int other = 1 - me.rank;
    sched::Builder builder;
    builder.send(at(Space::in, 0, 5000), other);
    builder.recv(at(Space::out, 0, 5000), other);
    Ints in(5000), out(5000);
    const auto run =
        std::make_unique<engine::Run>(me.endpoint, me.scratch, bench::program(builder));
    engine::Binding binding = me.binding(3);
    binding.in.whole = block(in);
    binding.out.whole = block(out);
    bool good = true;
    for (int round = 0; round < 50; ++round) {
      std::fill(in.begin(), in.end(), round * 10 + me.rank);
      if (round == 0) run->rebind() = std::move(binding);
      run->begin();
      good = good && engine::wait(me.endpoint, *run) == Code::ok;
      good = good && out.front() == round * 10 + other && out.back() == out.front();
    }
    return good;
  });
}

TEST_CASE("folding respects which operand comes first", "[engine]") {
  bench::run_members(1, [](const Member& me) {
    // "Keep the first operand": b = a.
    const auto first = types::Op::user(
        nullptr,
        [](void*, const void* a, void* b, types::Count count, Handle) {
          std::memcpy(b, a, static_cast<std::size_t>(count) * 4);
        },
        false);
    bool good = true;
    for (const bool from_first : {true, false}) {
      sched::Builder builder;
      builder.reduce({Space::in, 0, 3}, {Space::out, 0, 3}, from_first);
      Ints in{1, 2, 3}, out{7, 8, 9};
      engine::Binding binding = me.binding(0);
      binding.op = first.get();
      binding.type = types::predefined_type(kInt);
      binding.in.whole = {in.data(), 3, binding.type};
      binding.out.whole = {out.data(), 3, binding.type};
      const auto run =
          std::make_unique<engine::Run>(me.endpoint, me.scratch, bench::program(builder));
      run->rebind() = std::move(binding);
      run->begin();
      good = good && run->is_done() && out == (from_first ? Ints{1, 2, 3} : Ints{7, 8, 9});
    }
    return good;
  });
}

TEST_CASE("a run that fails ends, and ends those of the others", "[engine]") {
  // A ring of sends in which rank 0 announces another call: its left and right fail at once,
  // rank 3 only hears of it from them.
  bench::run_members(4, [](const Member& me) {
    const int right = (me.rank + 1) % 4, left = (me.rank + 3) % 4;
    sched::Builder builder;
    put_ring(builder, left, right);
    Ints out(5, me.rank);
    engine::Binding binding = me.binding(0);
    if (me.rank == 0) binding.fingerprint = 0x20000000;
    binding.out.whole = block(out);
    const auto run =
        std::make_unique<engine::Run>(me.endpoint, me.scratch, bench::program(builder));
    run->rebind() = std::move(binding);
    run->begin();
    if (engine::wait(me.endpoint, *run) == Code::ok) return false;
    // The next call is not disturbed by what is left of the last.
    sched::Builder again;
    again.send(at(Space::in, 0), right);
    again.recv(at(Space::out, 0), left);
    Ints in{50 + me.rank};
    engine::Binding next = me.binding(1);
    next.in.whole = block(in);
    next.out.whole = block(out);
    const auto second =
        std::make_unique<engine::Run>(me.endpoint, me.scratch, bench::program(again));
    second->rebind() = std::move(next);
    second->begin();
    return engine::wait(me.endpoint, *second) == Code::ok && out[0] == 50 + left;
  });
}

TEST_CASE("a run that served before ends those of the others, too, when it fails", "[engine]") {
  // The same ring; what its first call has sent is none of the second's, which fails on rank 0.
  bench::run_members(4, [](const Member& me) {
    sched::Builder builder;
    put_ring(builder, (me.rank + 3) % 4, (me.rank + 1) % 4);
    Ints out(5, me.rank);
    const auto run =
        std::make_unique<engine::Run>(me.endpoint, me.scratch, bench::program(builder));
    for (int call = 0; call < 3; ++call) {
      const bool fails = call == 1;
      engine::Binding binding = me.binding(call);
      if (fails && me.rank == 0) binding.fingerprint = 0x20000000;
      binding.out.whole = block(out);
      run->rebind() = std::move(binding);
      run->begin();
      if ((engine::wait(me.endpoint, *run) == Code::ok) == fails) return false;
    }
    return true;
  });
}

TEST_CASE("a cancelled context ends the runs in it, and no others", "[engine]") {
  bench::run_members(3, [](const Member& me) {
    const int right = (me.rank + 1) % 3, left = (me.rank + 2) % 3;
    // Nobody sends what this one waits for.
    sched::Builder stuck;
    stuck.recv(at(Space::out, 0, 1), left);
    stuck.send(at(Space::out, 0, 1), right);
    sched::Builder ring;
    ring.send(at(Space::in, 0), right);
    ring.recv(at(Space::out, 0), left);
    Ints in{70 + me.rank}, out(1), never(1);
    engine::Binding binding = me.binding(0);
    binding.out.whole = block(never);
    engine::Binding alive = me.binding(0);
    alive.context += 2;
    alive.in.whole = block(in);
    alive.out.whole = block(out);
    const auto run = std::make_unique<engine::Run>(me.endpoint, me.scratch, bench::program(stuck));
    const auto other = std::make_unique<engine::Run>(me.endpoint, me.scratch, bench::program(ring));
    run->rebind() = std::move(binding);
    run->begin();
    other->rebind() = std::move(alive);
    other->begin();
    me.endpoint.cancel(me.binding(0).context, Code::proc_aborted);
    if (!run->is_done() || run->code() != Code::proc_aborted) return false;
    return engine::wait(me.endpoint, *other) == Code::ok && out[0] == 70 + left;
  });
}
