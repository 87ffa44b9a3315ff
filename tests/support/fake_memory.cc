// Regions of the fake transport, and what is read from and written to them.
#include "fake_memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "transport/host_region.h"

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

class FakeAccess::Imported final : public Remote {
 public:
  Imported(FakeAccess& access, const Words& at) : words(at), access_(access) {
    ++access.memory_.remotes;
  }
  ~Imported() override {
    --access_.memory_.remotes;
    std::erase_if(access_.gets_, [this](const Getting& each) { return each.from == this; });
    std::erase_if(access_.puts_, [this](const Arriving& each) { return each.to == this; });
  }
  const Words words;

 private:
  FakeAccess& access_;
};

std::unique_ptr<Region> expose_fake(FakeMemory& memory, const Memory& exposed) {
  return std::make_unique<FakeRegion>(memory, exposed);
}

std::unique_ptr<Remote> FakeAccess::import(BlobView key) {
  TUTTI_CHECK(key.size() == key_bytes(memory_), "a key arrives whole");
  for (std::size_t i = sizeof(Words); i < key.size(); ++i)
    TUTTI_CHECK(key[i] == filling(i), "a key arrives as it was");
  Words words{};
  std::memcpy(&words, key.data(), sizeof words);
  return std::make_unique<Imported>(*this, words);
}

// What was exposed is read when it is asked for, or not at all.
Result<void> FakeAccess::get(Remote& from, std::uint64_t offset, const Memory& into, Done* done) {
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

Result<void> FakeAccess::put(Remote& to, std::uint64_t offset, const Memory& from, Done* done) {
  Arriving arriving{0, 0, &to, offset, from, {}, {}, false, done};
  const auto* const bytes = static_cast<const std::byte*>(from.data);
  if (!memory_.options.late_done) arriving.bytes.assign(bytes, bytes + from.bytes);
  TUTTI_DO(begin(std::move(arriving)));
  if (!memory_.options.late_done && done != nullptr) done->fire(done, true);
  return {};
}

Result<void> FakeAccess::atomic(Remote& at, std::uint64_t offset, const Atomic& what,
                                const Memory& before, Done* done) {
  return begin({0, 0, &at, offset, before, {}, what, true, done});
}

Result<void> FakeAccess::begin(Arriving arriving) {
  const FakeOptions& options = memory_.options;
  if (!options.puts) return fail(Code::unsupported, "the fake transport does not write");
  const Words& words = static_cast<const Imported*>(arriving.to)->words;
  TUTTI_CHECK(arriving.offset + arriving.from.bytes <= words.bytes,
              "nobody writes beyond what was exposed");
  arriving.number = ++begun_;
  arriving.rounds = static_cast<int>(random_() % static_cast<unsigned>(options.put_delay + 1));
  puts_.push_back(std::move(arriving));
  return {};
}

// What is exposed no more is not written to.
bool FakeAccess::arrive(const Arriving& arriving) {
  const Words& words = static_cast<const Imported*>(arriving.to)->words;
  const std::uint64_t at = words.address + arriving.offset;
  const std::lock_guard lock(memory_.mutex);
  if (memory_.regions.count(words.number) == 0) return false;
  if (arriving.is_atomic) return atomic_here(arriving.what, at, arriving.from).has_value();
  const void* const from = arriving.bytes.empty() ? arriving.from.data : arriving.bytes.data();
  if (arriving.from.bytes > 0) std::memcpy(reinterpret_cast<void*>(at), from, arriving.from.bytes);
  return true;
}

void FakeAccess::flush(Done* done) {
  flushes_.push_back({begun_, done});
}

int FakeAccess::progress() {
  return progress_gets() + progress_puts() + progress_flushes();
}

int FakeAccess::progress_puts() {
  std::vector<Arriving> waiting, over;
  waiting.swap(puts_);
  for (Arriving& each : waiting) (--each.rounds <= 0 ? over : puts_).push_back(std::move(each));
  for (const Arriving& each : over) {
    const bool ok = arrive(each);
    has_lost_ |= !ok;
    const bool fires = each.is_atomic || memory_.options.late_done;
    if (fires && each.done != nullptr) each.done->fire(each.done, ok);
  }
  return static_cast<int>(over.size());
}

int FakeAccess::progress_flushes() {
  std::vector<Flushing> waiting, over;
  waiting.swap(flushes_);
  for (const Flushing& each : waiting) {
    const bool is_over = std::none_of(puts_.begin(), puts_.end(),
                                      [&](const Arriving& put) { return put.number <= each.last; });
    (is_over ? over : flushes_).push_back(each);
  }
  for (const Flushing& each : over) each.done->fire(each.done, !std::exchange(has_lost_, false));
  return static_cast<int>(over.size());
}

int FakeAccess::progress_gets() {
  std::vector<Getting> waiting, over;
  waiting.swap(gets_);
  for (Getting& each : waiting) (--each.rounds <= 0 ? over : gets_).push_back(each);
  for (const Getting& each : over) each.done->fire(each.done, each.ok);
  return static_cast<int>(over.size());
}

Result<std::unique_ptr<Remote>> FakeAccessLink::import(BlobView key) {
  return access_.import(key);
}
Result<void> FakeAccessLink::get(Remote& from, std::uint64_t offset, const types::Buffer& into,
                                 Done* done) {
  return access_.get(from, offset, host_memory_of(into), done);
}
Result<void> FakeAccessLink::put(Remote& to, std::uint64_t offset, const types::Buffer& from,
                                 Done* done) {
  return access_.put(to, offset, host_memory_of(from), done);
}
Result<void> FakeAccessLink::atomic(Remote& at, std::uint64_t offset, const Atomic& what,
                                    const Memory& before, Done* done) {
  return access_.atomic(at, offset, what, before, done);
}
Result<void> FakeAccessLink::flush(Done* done) {
  access_.flush(done);
  return {};
}

}  // namespace tutti::test
