// Regions of the fake transport.
#include "fake_memory.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace tutti::test {

using namespace transport;

namespace {

// A key: where the memory is, how much of it, which region; and a filling that must come whole.
struct Words {
  std::uint64_t address, bytes, number;
};
std::byte filling(std::size_t at) {
  return static_cast<std::byte>(at * 7 + 1);
}
std::size_t key_bytes(const FakeMemory& memory) {
  return std::max(sizeof(Words), memory.options.key_bytes);
}

class FakeRegion final : public Region {
 public:
  FakeRegion(FakeMemory& memory, const Memory& exposed) : memory_(memory) {
    const std::lock_guard lock(memory.mutex);
    number_ = ++memory.exposed;
    memory.regions.insert(number_);
    key_.resize(key_bytes(memory));
    for (std::size_t i = 0; i < key_.size(); ++i) key_[i] = filling(i);
    const Words words{reinterpret_cast<std::uint64_t>(exposed.data), exposed.bytes, number_};
    std::memcpy(key_.data(), &words, sizeof words);
  }
  ~FakeRegion() override {
    const std::lock_guard lock(memory_.mutex);
    memory_.regions.erase(number_);
  }
  BlobView key() const override { return key_; }

 private:
  FakeMemory& memory_;
  std::uint64_t number_ = 0;
  Blob key_;
};

}  // namespace

class FakeReads::Imported final : public Remote {
 public:
  Imported(FakeReads& reads, const Words& at) : words(at), reads_(reads) {
    ++reads.memory_.remotes;
  }
  ~Imported() override {
    --reads_.memory_.remotes;
    std::erase_if(reads_.gets_, [this](const Getting& each) { return each.from == this; });
  }
  const Words words;

 private:
  FakeReads& reads_;
};

std::unique_ptr<Region> expose_fake(FakeMemory& memory, const Memory& exposed) {
  return std::make_unique<FakeRegion>(memory, exposed);
}

std::unique_ptr<Remote> FakeReads::import(BlobView key) {
  TUTTI_CHECK(key.size() == key_bytes(memory_), "a key arrives whole");
  for (std::size_t i = sizeof(Words); i < key.size(); ++i)
    TUTTI_CHECK(key[i] == filling(i), "a key arrives as it was");
  Words words{};
  std::memcpy(&words, key.data(), sizeof words);
  return std::make_unique<Imported>(*this, words);
}

// What was exposed is read when it is asked for, or not at all.
Result<void> FakeReads::get(Remote& from, std::uint64_t offset, const Memory& into, Done* done) {
  const FakeOptions& options = memory_.options;
  if (options.get_fails) return fail(Code::other, "the fake transport refuses to read");
  const Words& words = static_cast<Imported&>(from).words;
  TUTTI_CHECK(offset + into.bytes <= words.bytes, "nobody reads beyond what was exposed");
  ++memory_.gets;
  bool ok = offset < options.get_fails_at;
  {
    const std::lock_guard lock(memory_.mutex);
    ok = ok && memory_.regions.count(words.number) == 1;
    if (ok)
      std::memcpy(into.data, reinterpret_cast<const std::byte*>(words.address) + offset,
                  into.bytes);
  }
  if (options.get_delay > 0)
    gets_.push_back({done, options.get_delay, &from, ok});
  else
    done->fire(done, ok);
  return {};
}

int FakeReads::progress() {
  std::vector<Getting> waiting, over;
  waiting.swap(gets_);
  for (Getting& each : waiting) (--each.rounds <= 0 ? over : gets_).push_back(each);
  for (const Getting& each : over) each.done->fire(each.done, each.ok);
  return static_cast<int>(over.size());
}

}  // namespace tutti::test
