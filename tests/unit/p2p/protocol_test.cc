// What becomes of one message: short, long, empty, cut, to oneself, in pieces of a datatype.
#include "base/object.h"
#include "worlds.h"

using namespace tutti;
using namespace tutti::test;

namespace {

// Every way a link may behave, by name.
struct Variant {
  const char* name;
  FakeOptions options;
};

std::vector<Variant> variants() {
  std::vector<Variant> all(7);
  all[0].name = "plain";
  all[1].name = "full and slow";
  all[1].options = full_and_slow();
  all[2].name = "gets";
  all[2].options.gets = true;
  all[2].options.get_from = 2000;
  all[3].name = "gets late";
  all[3].options = all[2].options;
  all[3].options.get_delay = 5;
  all[4].name = "cannot read it in the end";
  all[4].options = all[2].options;
  all[4].options.get_fails = true;
  all[6].name = "gets where that is faster";
  all[6].options = all[2].options;
  all[6].options.gets_are_judged = true;
  all[5].name = "gives pinned memory back late, does not place";
  all[5].options.late_done = true;
  all[5].options.places = false;
  return all;
}

const std::vector<std::size_t> kSizes = {0,    1,    8,    63,   511,  512,
                                         1023, 1024, 1025, 4096, 4097, 100'000};

}  // namespace

TEST_CASE("a message arrives whole, whoever comes first", "[p2p][protocol]") {
  for (const Variant& variant : variants())
    for (const std::size_t bytes : kSizes)
      for (const bool receive_first : {false, true})
        for (const Mode mode : {Mode::standard, Mode::synchronous, Mode::ready}) {
          INFO(variant.name << ", " << bytes << " bytes, receive first " << receive_first);
          Worlds worlds(2, variant.options);
          auto data = pattern(bytes, bytes);
          std::vector<std::byte> into(bytes + 10, std::byte{7});
          Pending* receive = nullptr;
          if (receive_first) receive = worlds.recv(1, 0, 5, into);
          Pending* send = worlds.send(0, 1, 5, data, mode);
          if (!receive_first) {
            worlds.rounds(10);
            receive = worlds.recv(1, 0, 5, into);
          }
          REQUIRE(worlds.until([&] { return send->done && receive->done; }));
          REQUIRE(send->status.code == Code::ok);
          REQUIRE(receive->status.code == Code::ok);
          REQUIRE(receive->status.source == 0);
          REQUIRE(receive->status.tag == 5);
          REQUIRE(receive->status.bytes == static_cast<std::int64_t>(bytes));
          REQUIRE(std::equal(data.begin(), data.end(), into.begin()));
          for (std::size_t i = bytes; i < into.size(); ++i) REQUIRE(into[i] == std::byte{7});
          worlds[0].release(send);
          worlds[1].release(receive);
          REQUIRE(worlds.core(1).kept_bytes() == 0);
        }
}

TEST_CASE("a message longer than its receive is cut, says so, and ends on both sides",
          "[p2p][protocol]") {
  for (const Variant& variant : variants())
    for (const std::size_t bytes : kSizes)
      for (const bool receive_first : {false, true}) {
        if (bytes == 0) continue;
        INFO(variant.name << ", " << bytes << " bytes, receive first " << receive_first);
        Worlds worlds(2, variant.options);
        auto data = pattern(bytes, 3);
        const std::size_t room = bytes / 2;
        std::vector<std::byte> into(room);
        auto next = pattern(8, 4);
        std::vector<std::byte> next_into(8);
        Pending* receive = nullptr;
        if (receive_first) receive = worlds.recv(1, 0, 5, into);
        Pending* send = worlds.send(0, 1, 5, data);
        Pending* second = worlds.send(0, 1, 5, next, Mode::synchronous);
        if (!receive_first) {
          worlds.rounds(10);
          receive = worlds.recv(1, 0, 5, into);
        }
        Pending* last = worlds.recv(1, 0, 5, next_into);
        REQUIRE(worlds.until(
            [&] { return send->done && second->done && receive->done && last->done; }));
        REQUIRE(send->status.code == Code::ok);
        REQUIRE(receive->status.code == Code::truncate);
        REQUIRE(std::equal(into.begin(), into.end(), data.begin()));
        REQUIRE(last->status.code == Code::ok);
        REQUIRE(next_into == next);
      }
}

TEST_CASE("a synchronous send waits for its receive, a standard short one does not",
          "[p2p][protocol]") {
  for (const Variant& variant : variants()) {
    INFO(variant.name);
    Worlds worlds(2, variant.options);
    auto data = pattern(100, 1);
    std::vector<std::byte> into(100);
    Pending* standard = worlds.send(0, 1, 1, data);
    Pending* synchronous = worlds.send(0, 1, 2, data, Mode::synchronous);
    REQUIRE(worlds.until([&] { return standard->done; }));
    worlds.rounds(200);
    REQUIRE_FALSE(synchronous->done);
    Pending* receive = worlds.recv(1, 0, 2, into);
    REQUIRE(worlds.until([&] { return synchronous->done && receive->done; }));
  }
}

TEST_CASE("long messages go both ways at once, many of them", "[p2p][protocol]") {
  for (const Variant& variant : variants()) {
    INFO(variant.name);
    Worlds worlds(2, variant.options);
    constexpr int kCount = 20;
    std::vector<std::vector<std::byte>> out, in;
    std::vector<Pending*> requests;
    for (int i = 0; i < 2 * kCount; ++i) {
      out.push_back(pattern(20'000 + static_cast<std::size_t>(i), static_cast<unsigned>(i)));
      in.emplace_back(out.back().size());
    }
    for (int i = 0; i < 2 * kCount; ++i) {
      const int from = i % 2;
      const auto at = static_cast<std::size_t>(i);
      requests.push_back(worlds.send(from, 1 - from, i, out[at]));
      requests.push_back(worlds.recv(1 - from, from, i, in[at]));
    }
    REQUIRE(worlds.until([&] {
      return std::all_of(requests.begin(), requests.end(), [](Pending* r) { return r->done; });
    }));
    REQUIRE(in == out);
  }
}

TEST_CASE("a rank sends to itself", "[p2p][protocol]") {
  in_ranks(1, [](int, Endpoint& endpoint) {
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{8}, std::size_t{300'000}}) {
      auto data = pattern(bytes, 1);
      std::vector<std::byte> into(bytes);
      Pending* send = endpoint.send(Mode::synchronous, 0, {1, 0, 4, 0}, plain(data));
      CHECK_FALSE(send->done);
      const Status status = endpoint.recv_now(0, {1, 0, 4, 0}, plain(into));
      endpoint.wait(send);
      CHECK(status.code == Code::ok);
      CHECK(into == data);
      endpoint.release(send);
    }
  });
}

namespace {

// Twice, since now and then it is the turn of a frame.
bool give(Endpoint& endpoint, const Envelope& envelope, const void* data, std::size_t bytes) {
  return endpoint.give_to_self(envelope, data, bytes) ||
         endpoint.give_to_self(envelope, data, bytes);
}

}  // namespace

TEST_CASE("a message to oneself whose receive waits is there at once", "[p2p][protocol]") {
  in_ranks(1, [](int, Endpoint& endpoint) {
    const Envelope first{2, 0, 4, 0}, second{4, 0, 4, 0};
    std::uint64_t data = 21, into[3] = {0, 0, 0};
    // Nobody has used the link yet, and nobody waits.
    CHECK_FALSE(give(endpoint, first, &data, sizeof data));
    REQUIRE(endpoint.try_send(0, first, &data, sizeof data) != 0);
    Pending* waits = endpoint.recv(0, first, Buffer::plain(&into[0], 8));
    // It does not pass what was sent before.
    std::uint64_t later = 22;
    CHECK_FALSE(give(endpoint, first, &later, sizeof later));
    endpoint.wait(waits);
    CHECK(into[0] == 21);
    endpoint.release(waits);

    Pending* early = endpoint.recv(0, second, Buffer::plain(&into[1], 8));
    REQUIRE(give(endpoint, second, &later, sizeof later));
    CHECK(early->done);
    CHECK(into[1] == 22);
    CHECK((early->status.bytes == 8 && early->status.source == 0 && early->status.tag == 4));
    endpoint.release(early);
    Pending* next = endpoint.recv(0, second, Buffer::plain(&into[2], 4));
    CHECK_FALSE(give(endpoint, first, &later, sizeof later));   // of another context
    CHECK_FALSE(give(endpoint, second, &later, sizeof later));  // too long
    REQUIRE(give(endpoint, second, &later, 4));
    CHECK((next->done && into[2] == 22));
    endpoint.release(next);
    const p2p::Counters counters = endpoint.counters();
    CHECK((counters.messages_sent == 3 && counters.messages_received == 3));
    CHECK((counters.bytes_sent == 20 && counters.bytes_received == 20));
    CHECK(counters.posted_now == 0);
    CHECK(endpoint.sent_text() == "0\tself\t3\t20\n");
  });
}

TEST_CASE("a message to oneself ends a receive as any other does", "[p2p][protocol]") {
  in_ranks(1, [](int, Endpoint& endpoint) {
    const Envelope envelope{2, 0, 4, 0};
    std::uint64_t data = 21, into = 0;
    int ends = 0;
    REQUIRE(endpoint.try_send(0, envelope, &data, sizeof data) != 0);
    Pending* request = endpoint.recv(0, envelope, Buffer::plain(&into, 8));
    endpoint.wait(request);
    endpoint.release(request);
    for (const bool is_released_before : {false, true}) {
      request = endpoint.recv(0, envelope, Buffer::plain(&into, 8));
      request->owner = &ends;
      request->on_done = [](Pending* self) {
        CHECK(self->done);
        ++*static_cast<int*>(self->owner);
      };
      if (is_released_before) endpoint.release(request);
      into = 0;
      REQUIRE(give(endpoint, envelope, &data, sizeof data));
      CHECK(into == 21);
      if (!is_released_before) endpoint.release(request);
    }
    CHECK(ends == 2);
  });
}

TEST_CASE("messages of datatypes with gaps are packed and unpacked part by part",
          "[p2p][protocol]") {
  types::Datatype* const word = types::predefined_type(0x250);  // MPI_INT32_T
  REQUIRE(word != nullptr);
  REQUIRE(word->size() == 4);
  for (const Variant& variant : variants())
    for (const int count : {1, 10, 300, 30'000})
      for (const bool gaps_in : {false, true})
        for (const bool gaps_out : {false, true}) {
          INFO(variant.name << ", " << count << " words, gaps " << gaps_out << gaps_in);
          Worlds worlds(2, variant.options);
          // Every other word of the buffer.
          auto vector = types::make_vector(count, 1, 2, *word);
          REQUIRE(vector.has_value());
          (*vector)->commit();
          const auto words = static_cast<std::size_t>(count);
          std::vector<std::int32_t> out(2 * words), in(2 * words, -1);
          for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::int32_t>(i);
          const auto buffer = [&](std::vector<std::int32_t>& memory, bool gaps) {
            return gaps ? Buffer::whole(memory.data(), 1, **vector)
                        : Buffer::whole(memory.data(), count, *word);
          };
          Pending* send = worlds[0].send(Mode::standard, 1, {1, 0, 2, 0}, buffer(out, gaps_out));
          Pending* receive = worlds[1].recv(0, {1, 0, 2, 0}, buffer(in, gaps_in));
          REQUIRE(worlds.until([&] { return send->done && receive->done; }));
          REQUIRE(receive->status.bytes == 4 * count);
          bool right = true;
          for (std::size_t i = 0; i < words; ++i)
            right &= in[gaps_in ? 2 * i : i] == out[gaps_out ? 2 * i : i];
          for (std::size_t i = 0; gaps_in && i < words; ++i) right &= in[2 * i + 1] == -1;
          REQUIRE(right);
        }
}

TEST_CASE("who gives too much in a collective is named, with the sizes", "[p2p][protocol]") {
  for (const std::size_t bytes : {std::size_t{64}, std::size_t{50'000}}) {
    Worlds worlds(2);
    auto data = pattern(bytes, 1);
    std::vector<std::byte> into(bytes - 8);
    const auto meet = [&](std::uint32_t call, const types::Buffer& buffer) {  // what is said of it
      Pending* send = worlds[0].send(Mode::standard, 1, {3, 0, 17, call}, plain(data));
      Pending* receive = worlds[1].recv(0, {3, 0, 17, call}, buffer);
      REQUIRE(worlds.until([&] { return send->done && receive->done; }));
      REQUIRE(receive->status.code == Code::truncate);
      const p2p::MessageFailure failure = worlds[1].failure_of(*receive);
      CHECK_FALSE(failure.is_theirs);
      worlds[1].release(receive);
      return failure.text;
    };
    const std::string begin =
        "rank 0 gives " + std::to_string(bytes) + " bytes to rank 1, which has room for ";
    CHECK(meet(12, plain(into)) == begin + std::to_string(bytes - 8));
    CHECK(meet(12, types::Buffer::plain(nullptr, 0)) == begin + "0");
    CHECK(meet(0, plain(into)).empty());  // of other messages the status tells
  }
}

TEST_CASE("ranks in different collectives are told, by name", "[p2p][protocol]") {
  for (const std::size_t bytes : {std::size_t{64}, std::size_t{50'000}}) {
    Worlds worlds(2);
    worlds[1].set_fingerprint_text(
        [](std::uint32_t number) { return number == 11 ? "a bcast" : "a reduce"; });
    auto data = pattern(bytes, 1);
    std::vector<std::byte> into(bytes);
    Pending* send = worlds[0].send(Mode::standard, 1, {3, 0, 17, 11}, plain(data));
    Pending* receive = worlds[1].recv(0, {3, 0, 17, 12}, plain(into));
    REQUIRE(worlds.until([&] { return send->done && receive->done; }));
    REQUIRE(receive->status.code == Code::other);
    REQUIRE_FALSE(worlds[1].failure_of(*receive).is_theirs);
    const std::string text = worlds[1].failure_of(*receive).text;
    REQUIRE(text.find("rank 1 calls a reduce") != std::string::npos);
    REQUIRE(text.find("rank 0 calls a bcast") != std::string::npos);
    // Alike, or unknown, is no mismatch.
    for (const std::uint32_t theirs : {0U, 12U}) {
      Pending* again = worlds[0].send(Mode::standard, 1, {3, 0, 18, theirs}, plain(data));
      Pending* taken = worlds[1].recv(0, {3, 0, 18, 12}, plain(into));
      REQUIRE(worlds.until([&] { return again->done && taken->done; }));
      REQUIRE(taken->status.code == Code::ok);
      REQUIRE(worlds[1].failure_of(*taken).text.empty());
    }
    // The others' word of a rank that is gone is no mismatch either.
    const types::Buffer none = types::Buffer::plain(nullptr, 0);
    const auto hear = [&](int tag, std::uint32_t fingerprint, p2p::GaveUp why) {
      const Pending* const word =
          worlds[0].send(Mode::standard, 1, {3, 0, tag, fingerprint, why}, none);
      const Pending* const heard = worlds[1].recv(0, {3, 0, tag, 12}, plain(into));
      REQUIRE(worlds.until([&] { return word->done && heard->done; }));
      return heard;
    };
    const Pending* const lost = hear(19, 12, p2p::GaveUp::lost_peer);
    REQUIRE(lost->status.code == Code::proc_aborted);
    REQUIRE(worlds[1].failure_of(*lost).text.empty());
    REQUIRE_FALSE(worlds[1].failure_of(*lost).is_theirs);
    // Of a call that failed there it is said whose the failure is, and which call that was.
    const p2p::MessageFailure failed = worlds[1].failure_of(*hear(20, 12, p2p::GaveUp::failed));
    CHECK(failed.is_theirs);
    CHECK_FALSE(failed.is_mismatch);
    CHECK(failed.text.find("rank 0 gave up a reduce") == 0);
    const p2p::MessageFailure another = worlds[1].failure_of(*hear(21, 11, p2p::GaveUp::failed));
    CHECK(another.is_mismatch);
    CHECK(another.text.find("rank 1 calls a reduce, rank 0 calls a bcast") != std::string::npos);
    CHECK_FALSE(another.is_theirs);
    const p2p::MessageFailure met = worlds[1].failure_of(*hear(22, 12, p2p::GaveUp::differs));
    CHECK(met.is_mismatch);
    CHECK(met.is_theirs);
  }
}
