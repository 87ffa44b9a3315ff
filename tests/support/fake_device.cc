// A device whose memory is one memory file, mapped twice: for callers without access, for itself
// with it.
#include "fake_device.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

#include "base/check.h"

namespace tutti::test {

using types::Buffer;
using types::Count;

FakeDevice::FakeDevice(int number, const FakeDeviceOptions& options)
    : number_(number),
      options_(options),
      state_(options.seed * 0x9e3779b97f4a7c15U + static_cast<std::uint64_t>(number)),
      file_(::memfd_create("fake-device", MFD_CLOEXEC)) {
  TUTTI_CHECK(::ftruncate(file_.get(), kBytes) == 0, "no memory file");
  const auto map = [this](int protection) {
    void* const at = ::mmap(nullptr, kBytes, protection, MAP_SHARED, file_.get(), 0);
    TUTTI_CHECK(at != MAP_FAILED, "no mapping");
    return static_cast<std::byte*>(at);
  };
  forbidden_ = map(PROT_NONE);
  open_ = map(PROT_READ | PROT_WRITE);
}

FakeDevice::~FakeDevice() {
  ::munmap(forbidden_, kBytes);
  ::munmap(open_, kBytes);
}

std::byte* FakeDevice::take(std::size_t bytes) {
  constexpr std::size_t kApart = 64;
  std::byte* const at = forbidden_ + taken_;
  taken_ += (bytes + kApart) / kApart * kApart;
  TUTTI_CHECK(taken_ <= kBytes, "out of fake memory");
  return at;
}

bool FakeDevice::owns(const void* address) const {
  const auto* const at = static_cast<const std::byte*>(address);
  return at >= forbidden_ && at < forbidden_ + kBytes;
}

std::byte* FakeDevice::seen(const void* address) const {
  return open_ + (static_cast<const std::byte*>(address) - forbidden_);
}

// Host memory as it is.
Buffer FakeDevice::seen(const Buffer& buffer) const {
  if (buffer.device == nullptr) return buffer;
  TUTTI_CHECK(buffer.device == this, "memory of another device");
  TUTTI_CHECK(owns(buffer.at()), "an address that is not the device's");
  Buffer same = buffer;
  same.device = nullptr;
  same.data = open_ + (static_cast<std::byte*>(buffer.data) - forbidden_);
  return same;
}

std::uint64_t FakeDevice::draw() {
  state_ = state_ * 6364136223846793005U + 1442695040888963407U;
  return state_ >> 33;
}

// The work itself is done when it ends: sources must stay, results come no sooner.
void FakeDevice::begin(std::function<void()> run, Done* done) {
  const bool fails = options_.fails_from >= 0 && begun_ >= options_.fails_from;
  ++begun_;
  if (fails && options_.lacks_memory) throw std::bad_alloc();
  if (options_.longest_delay == 0 && !is_behind_) {
    if (!fails) run();
    return done->fire(done, !fails);
  }
  const int looks =
      static_cast<int>(draw() % static_cast<std::uint64_t>(options_.longest_delay + 1));
  pending_.push_back({looks, std::move(run), done, fails, is_behind_});
}

void FakeDevice::pack(const Buffer& from, Count offset, std::span<std::byte> out, Done* done) {
  begin([from = seen(from), offset, out] { types::pack(from, offset, out); }, done);
}

void FakeDevice::unpack(const Buffer& into, Count offset, std::span<const std::byte> in,
                        Done* done) {
  begin([into = seen(into), offset, in] { types::unpack(into, offset, in); }, done);
}

void FakeDevice::copy(const Buffer& from, const Buffer& into, Done* done) {
  begin([from = seen(from), into = seen(into)] { types::copy(from, into); }, done);
}

bool FakeDevice::folds(const types::Fold& fold) const {
  return fold.op->kernel(*fold.into.type) != nullptr;
}

void FakeDevice::fold(const types::Fold& fold, Done* done) {
  const auto run = [op = fold.op, from = seen(fold.from), into = seen(fold.into),
                    first = fold.from_first] {
    if (first)
      op->fold(from.data, into.data, into.count, *into.type);
    else
      op->fold_right(from.data, into.data, into.count, *into.type, nullptr);
  };
  begin(run, done);
}

std::byte* FakeDevice::take_scratch(std::size_t bytes) {
  if (draw() % 4 == 0) return nullptr;
  const std::size_t room = std::bit_ceil(bytes);
  auto found = std::ranges::find_if(
      scratch_, [room](const ScratchPiece& each) { return !each.is_taken && each.bytes == room; });
  if (found == scratch_.end()) found = scratch_.insert(found, {take(room), room, false});
  found->is_taken = true;
  return found->at;
}

void FakeDevice::give_scratch(std::byte* at) {
  const auto found =
      std::ranges::find_if(scratch_, [at](const ScratchPiece& each) { return each.at == at; });
  TUTTI_CHECK(found != scratch_.end() && found->is_taken, "what was not taken is given back");
  found->is_taken = false;
  std::memset(seen(at), 0xdd, found->bytes);
}

int FakeDevice::progress() {
  std::vector<Work> due;
  for (std::size_t i = 0; i < pending_.size();) {
    if ((is_behind_ && pending_[i].is_behind) || --pending_[i].looks >= 0) {
      ++i;
      continue;
    }
    due.push_back(std::move(pending_[i]));
    pending_[i] = std::move(pending_.back());
    pending_.pop_back();
  }
  for (std::size_t left = due.size(); left > 0; --left) {
    const std::size_t chosen = draw() % left;
    std::swap(due[chosen], due[left - 1]);
    const Work& work = due[left - 1];
    if (!work.fails) work.run();
    work.done->fire(work.done, !work.fails);
  }
  return static_cast<int>(due.size());
}

}  // namespace tutti::test
