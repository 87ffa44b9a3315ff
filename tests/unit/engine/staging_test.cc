// Blocks that lie apart in a device's memory: moved together and apart by requests, whatever
// happens meanwhile.
#include <memory>
#include <optional>

#include "../p2p/machines.h"
#include "catch.h"
#include "engine/engine.h"

namespace {

using namespace tutti;
using sched::Space;
using Bytes = std::vector<std::byte>;

constexpr types::Count kBlock = 3000, kGap = 40, kBlocks = 3, kAll = kBlock * kBlocks;
constexpr std::uint32_t kContext = 41, kCall = 0x10000007;

// Rank 0 has blocks apart on its device: it sends them as one message, and gets another into
// others.
class Apart {
 public:
  explicit Apart(const test::MemoryVariant& variant, bool outlives_failure = true)
      : machines(2, variant) {
    in_ = take(1);
    out_ = take(0);
    sched::Builder builder;
    builder.send({Space::in, 0, kAll}, 1);
    builder.recv({Space::out, 0, kAll}, 1);
    run.emplace(machines.worlds[0], scratch_,
                std::make_shared<const engine::Program>(builder.finish()));
    engine::Binding& binding = run->rebind();
    binding.context = kContext;
    binding.fingerprint = kCall;
    binding.peers = peers_;
    binding.outlives_failure = outlives_failure;
    binding.in.blocks = blocks(in_);
    binding.out.blocks = blocks(out_);
  }
  // Rank 1's side of it, and rank 0's to the end.
  bool ends(const Bytes& given) {
    got = Bytes(static_cast<std::size_t>(kAll));
    const p2p::Envelope mine{kContext, 1, 0, kCall}, theirs{kContext, 0, 0, kCall};
    const auto plain = [](const Bytes& bytes) {
      return types::Buffer::plain(const_cast<std::byte*>(bytes.data()),
                                  static_cast<types::Count>(bytes.size()));
    };
    auto& other = machines.worlds[1];
    p2p::Pending* const asked = other.recv(0, theirs, plain(got));
    p2p::Pending* const sent = other.send(p2p::Mode::standard, 0, mine, plain(given));
    const bool are_done = machines.worlds.until(
        [&] { return asked->done && sent->done && (!run || run->is_done()); });
    told = asked->status.code;
    other.release(asked);
    other.release(sent);
    return are_done;
  }
  Bytes result() {
    Bytes all;
    for (types::Count i = 0; i < kBlocks; ++i) {
      const std::byte* const at = machines.device(0).seen(out_ + i * (kBlock + kGap));
      all.insert(all.end(), at, at + kBlock);
    }
    return all;
  }

  test::Machines machines;
  std::optional<engine::Run> run;
  Bytes got;
  Code told = Code::ok;

 private:
  std::byte* take(int content) {
    constexpr auto kBytes = static_cast<std::size_t>(kBlocks * (kBlock + kGap));
    std::byte* const memory = machines.device(0).take(kBytes);
    const Bytes bytes(kBytes, static_cast<std::byte>(content));
    std::copy(bytes.begin(), bytes.end(), machines.device(0).seen(memory));
    return memory;
  }
  std::vector<engine::Block> blocks(std::byte* memory) {
    std::vector<engine::Block> all;
    for (types::Count i = 0; i < kBlocks; ++i)
      all.push_back({memory + i * (kBlock + kGap), kBlock, nullptr, &machines.device(0)});
    return all;
  }
  const std::vector<int> peers_{0, 1};
  engine::ScratchPool scratch_;
  std::byte *in_ = nullptr, *out_ = nullptr;
};

}  // namespace

TEST_CASE("blocks of a device that lie apart are moved, again and again", "[engine][staging]") {
  for (const auto& variant : test::memory_variants()) {
    INFO(variant.name);
    Apart apart(variant);
    for (int turn = 0; turn < 3; ++turn) {
      const Bytes given = test::pattern(static_cast<std::size_t>(kAll), turn);
      apart.run->begin();
      REQUIRE(apart.ends(given));
      REQUIRE(apart.run->code() == Code::ok);
      REQUIRE(apart.got == Bytes(apart.got.size(), std::byte{1}));
      REQUIRE(apart.result() == given);
    }
  }
}

// The work before, and the one behind, may be under way.
TEST_CASE("where moving one block fails the run ends, and its peer is told", "[engine][staging]") {
  const bool lacks_memory = GENERATE(false, true), outlives_failure = GENERATE(true, false);
  const Bytes given = test::pattern(static_cast<std::size_t>(kAll), 7);
  bool has_gone_well = false;
  for (int nth = 0; !has_gone_well; ++nth) {
    REQUIRE(nth < 40);
    INFO("from the work number " << nth);
    test::MemoryVariant slow = test::memory_variants()[5];
    slow.device.fails_from = nth;
    slow.device.lacks_memory = lacks_memory;
    Apart apart(slow, outlives_failure);
    apart.run->begin();
    REQUIRE(apart.ends(given));
    has_gone_well = apart.run->code() == Code::ok;
    if (nth < 2 * kBlocks) CHECK(apart.told != Code::ok);
    if (!has_gone_well) CHECK(apart.run->code() == (lacks_memory ? Code::no_mem : Code::other));
    apart.run.reset();
    REQUIRE(apart.machines.worlds.until([&] { return apart.machines.device(0).pending() == 0; }));
    if (nth < 2 * kBlocks) CHECK_FALSE(has_gone_well);
  }
}

// Before its first step it tells its peer; later messages may be under way, which are taken back.
TEST_CASE("a run is let go while its blocks are moved", "[engine][staging]") {
  for (int looks = 0; looks < 400; looks += 10) {
    INFO("after " << looks << " looks");
    Apart apart(test::memory_variants()[5]);
    apart.run->begin();
    for (int i = 0; i < looks; ++i) apart.machines.worlds[0].progress();
    apart.run.reset();
    if (looks == 0) REQUIRE(apart.ends(Bytes(static_cast<std::size_t>(kAll))));
    if (looks == 0) CHECK(apart.told != Code::ok);
    REQUIRE(apart.machines.worlds.until([&] { return apart.machines.device(0).pending() == 0; }));
  }
}
