// Requests: probe, matched probe, cancel, release while active, completion callbacks.
#include <new>

#include "p2p/keep_those.h"
#include "worlds.h"

using namespace tutti;
using namespace tutti::test;

TEST_CASE("a probe shows a message and leaves it, a matched probe takes it", "[p2p][request]") {
  for (const std::size_t bytes : {std::size_t{40}, std::size_t{40'000}}) {
    Worlds worlds(2);
    Status status;
    REQUIRE_FALSE(worlds[1].probe(0, {1, 0, 9, 0}, &status));
    auto first = pattern(bytes, 1);
    auto second = pattern(bytes, 2);
    worlds.send(0, 1, 9, first);
    worlds.send(0, 1, 9, second);
    REQUIRE(worlds.until([&] { return worlds[1].probe(0, {1, 0, 9, 0}, &status); }));
    REQUIRE(status.bytes == static_cast<std::int64_t>(bytes));
    REQUIRE(status.code == Code::ok);
    REQUIRE_FALSE(worlds[1].probe(0, {1, 0, 8, 0}, &status));
    const Envelope any{1, kAnySource, kAnyTag, 0};
    REQUIRE(worlds[1].probe(kAnySource, any, &status));
    REQUIRE(status.tag == 9);
    p2p::KeptMessage* message = worlds[1].take(kAnySource, any, &status);
    REQUIRE(message != nullptr);
    // The next receive gets the other one, though posted before the taken one is received.
    std::vector<std::byte> late(bytes), taken(bytes);
    Pending* receive = worlds.recv(1, 0, 9, late);
    REQUIRE(worlds.until([&] { return receive->done; }));
    Pending* matched = worlds[1].recv_taken(message, plain(taken));
    REQUIRE(worlds.until([&] { return matched->done; }));
    REQUIRE(taken == first);
    REQUIRE(late == second);
    REQUIRE(worlds.core(1).kept_bytes() == 0);
  }
}

TEST_CASE("a receive is cancelled until it has matched", "[p2p][request]") {
  Worlds worlds(2);
  std::vector<std::byte> into(4096), data(4096);
  Pending* lonely = worlds.recv(1, 0, 1, into);
  worlds[1].cancel(lonely);
  REQUIRE(lonely->done);
  REQUIRE(lonely->status.cancelled);
  // Its message goes to the next one.
  worlds.send(0, 1, 1, data);
  Pending* next = worlds.recv(1, 0, 1, into);
  REQUIRE(worlds.until([&] { return next->done; }));
  worlds[1].cancel(next);
  REQUIRE_FALSE(next->status.cancelled);
  REQUIRE(next->status.bytes == 4096);
}

TEST_CASE("a send is cancelled until its message is received", "[p2p][request]") {
  for (const std::size_t bytes : {std::size_t{10}, std::size_t{50'000}}) {
    Worlds worlds(2);
    auto data = pattern(bytes, 1), other = pattern(bytes, 2);
    std::vector<std::byte> into(bytes);
    Status status;
    Pending* gone = worlds[0].send(Mode::synchronous, 1, {1, 0, 7, 0}, plain(data));
    REQUIRE(worlds.until([&] { return worlds[1].probe(0, {1, 0, 7, 0}, &status); }));
    worlds[0].cancel(gone);
    Pending* kept = worlds[0].send(Mode::synchronous, 1, {1, 0, 7, 0}, plain(other));
    REQUIRE(worlds.until([&] { return gone->done; }));
    REQUIRE(gone->status.cancelled);
    worlds[0].release(gone);
    Pending* receive = worlds.recv(1, 0, 7, into);
    REQUIRE(worlds.until([&] { return receive->done && kept->done; }));
    REQUIRE(into == other);
    REQUIRE_FALSE(kept->status.cancelled);
    REQUIRE(worlds.core(1).kept_bytes() == 0);

    // Received before the peer hears of it: it ends as if nothing had been said.
    Pending* met = worlds[0].send(Mode::synchronous, 1, {1, 0, 8, 0}, plain(data));
    REQUIRE(worlds.until([&] { return worlds[1].probe(0, {1, 0, 8, 0}, &status); }));
    Pending* meets = worlds.recv(1, 0, 8, into);
    worlds[0].cancel(met);
    REQUIRE(worlds.until([&] { return met->done && meets->done; }));
    REQUIRE_FALSE(met->status.cancelled);
    REQUIRE(into == data);
  }
}

TEST_CASE("a request released while active still does its work", "[p2p][request]") {
  for (const std::size_t bytes : {std::size_t{10}, std::size_t{50'000}}) {
    Worlds worlds(2);
    auto data = pattern(bytes, 1);
    std::vector<std::byte> into(bytes), last(1);
    worlds[1].release(worlds.recv(1, 0, 1, into));
    worlds[0].release(worlds.send(0, 1, 1, data));
    Pending* after = worlds.recv(1, 0, 2, last);
    worlds[0].release(worlds.send(0, 1, 2, last, Mode::synchronous));
    REQUIRE(worlds.until([&] { return after->done && into == data; }));
  }
}

namespace {

// Each completion posts the next receive, of a message that is there already or comes later.
struct Chain {
  Endpoint* endpoint;
  int left;
  int depth = 0;
  int deepest = 0;
  std::vector<std::byte> into = std::vector<std::byte>(8);

  void post() {
    while (left > 0) {
      Pending* request = endpoint->recv(0, {1, 0, 1, 0}, plain(into));
      --left;
      if (!request->done) {
        request->owner = this;
        request->on_done = [](Pending* self) { static_cast<Chain*>(self->owner)->next(self); };
        return;
      }
      endpoint->release(request);
    }
  }
  void next(Pending* request) {
    ++depth;
    deepest = std::max(deepest, depth);
    endpoint->release(request);
    post();
    --depth;
  }
};

}  // namespace

TEST_CASE("completion callbacks post new requests and never nest", "[p2p][request]") {
  Worlds worlds(2);
  Chain chain{&worlds[1], 10'000};
  chain.post();
  auto data = pattern(8, 1);
  for (int i = 0; i < 10'000; ++i) {
    while (!worlds[0].try_send(1, {1, 0, 1, 0}, data.data(), 8)) worlds.progress();
    if (i % 7 == 0) worlds.progress();
  }
  REQUIRE(worlds.until([&] { return chain.left == 0 && chain.depth == 0; }));
  REQUIRE(chain.deepest == 1);
}

TEST_CASE("a callback runs once, also when its request was released before", "[p2p][request]") {
  Worlds worlds(2);
  static int calls = 0;
  calls = 0;
  std::vector<std::byte> into(8), data(8);
  Pending* receive = worlds.recv(1, 0, 1, into);
  receive->on_done = [](Pending* self) {
    ++calls;
    CHECK(self->done);
  };
  worlds[1].release(receive);
  worlds.send(0, 1, 1, data);
  REQUIRE(worlds.until([&] { return calls > 0; }));
  worlds.rounds(20);
  REQUIRE(calls == 1);
}

TEST_CASE("an owner that lost interest is not called, even by what is complete already",
          "[p2p][request]") {
  Worlds worlds(2);
  std::vector<std::byte> into(8), data(8);
  std::vector<Pending*> receives;
  for (int i = 0; i < 2; ++i) receives.push_back(worlds.recv(1, 0, 1, into));
  // The first to complete takes the interest away from the second, in the same round.
  receives[0]->owner = receives[1];
  receives[0]->on_done = [](Pending* self) {
    static_cast<Pending*>(self->owner)->on_done = nullptr;
  };
  receives[1]->on_done = [](Pending*) { FAIL("called without interest"); };
  worlds.send(0, 1, 1, data);
  worlds.send(0, 1, 1, data);
  REQUIRE(worlds.until([&] { return receives[0]->done && receives[1]->done; }));
}

TEST_CASE("links are reported with their reason", "[p2p][request]") {
  Worlds worlds(2);
  const std::string text = worlds[0].links_text();
  REQUIRE(text.find("-1\tfake\ta test\n") != std::string::npos);
  REQUIRE(worlds[0].link_name(1) == "fake");
  REQUIRE(worlds[0].traits(1).eager_bytes == FakeOptions{}.eager_bytes);
}

TEST_CASE("callbacks go on to be called after one that threw", "[p2p][request]") {
  Worlds worlds(1);
  bool was_called = false;
  worlds[0].later([](Pending*) { throw std::bad_alloc(); }, nullptr);
  CHECK_THROWS_AS(worlds[0].progress(), std::bad_alloc);
  worlds[0].later([](Pending* self) { *static_cast<bool*>(self->owner) = true; }, &was_called);
  worlds[0].progress();
  CHECK(was_called);
}

TEST_CASE("a receive whose answer finds no memory has its message, and is answered later",
          "[p2p][request]") {
  for (const bool is_taken_first : {false, true})
    for (const std::size_t bytes : {std::size_t{10}, std::size_t{50'000}}) {
      FakeOptions options;
      options.throws_at = 1;  // the first frame back
      Worlds worlds(2, options);
      auto data = pattern(bytes, 1);
      std::vector<std::byte> into(bytes);
      Pending* const send = worlds[0].send(Mode::synchronous, 1, {1, 0, 9, 0}, plain(data));
      Status status;
      REQUIRE(worlds.until([&] { return worlds[1].probe(0, {1, 0, 9, 0}, &status); }));
      Pending* const receive =
          is_taken_first
              ? worlds[1].recv_taken(worlds[1].take(0, {1, 0, 9, 0}, &status), plain(into))
              : worlds[1].recv(0, {1, 0, 9, 0}, plain(into));
      CHECK(worlds.until([&] { return receive->done && send->done; }));
      CHECK(into == data);
    }
}

TEST_CASE("a receive that was waited for and found no memory is posted no more", "[p2p][request]") {
  Worlds worlds(2);
  auto data = pattern(100, 1);
  std::vector<std::byte> into(100);
  worlds[1].later([](Pending*) { throw std::bad_alloc(); }, nullptr);
  CHECK_THROWS_AS(worlds[1].recv_now(0, {1, 0, 9, 0}, plain(into)), std::bad_alloc);
  worlds.send(0, 1, 9, data);
  Pending* const receive = worlds.recv(1, 0, 9, into);
  CHECK(worlds.until([&] { return receive->done; }));
  CHECK(into == data);
}

TEST_CASE("a walk along a list that throws leaves what is still to do", "[p2p][request]") {
  std::vector<int> list{1, 2, 3, 4, 5};
  std::vector<int> seen;
  bool throws = true;
  const auto is_odd = [&](int each) {
    if (each == 4 && throws) throw std::bad_alloc();
    seen.push_back(each);
    if (each == 5) list.push_back(6);
    return each % 2 == 1;
  };
  CHECK_THROWS_AS(tutti::p2p::keep_those(list, is_odd), std::bad_alloc);
  CHECK(list == std::vector<int>{1, 3, 4, 5});
  throws = false;
  tutti::p2p::keep_those(list, is_odd);
  CHECK(list == std::vector<int>{1, 3, 5});
  CHECK(seen == std::vector<int>{1, 2, 3, 1, 3, 4, 5, 6});
}
