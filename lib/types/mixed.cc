// Messages in several memories: a type that has addresses in itself (MPI_BOTTOM) may name memory of
// the host's and of devices. Each part is moved by whom it belongs to, one after the other,
// waiting: right, and no more than that.
#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <vector>

#include "types/types.h"

namespace tutti::types {

class Mixed final : public Device {
 public:
  explicit Mixed(const Devices& devices) : devices_(devices) {}
  MemoryKind kind() const override { return MemoryKind::host; }  // no link reads it where it lies
  int number() const override { return -1; }
  bool owns(const void*) const override { return false; }

  void pack(const Buffer& from, Count offset, std::span<std::byte> out, Done* done) override {
    done->fire(done, give(from, offset, out));
  }
  void unpack(const Buffer& into, Count offset, std::span<const std::byte> in,
              Done* done) override {
    done->fire(done, take(into, offset, in));
  }
  void copy(const Buffer& from, const Buffer& into, Done* done) override {
    const Count bytes = std::min(from.bytes, into.bytes);
    std::vector<std::byte> chunk(static_cast<std::size_t>(std::min(bytes, kChunk)));
    bool ok = true;
    for (Count at = 0; at < bytes && ok; at += kChunk) {
      const auto some =
          std::span(chunk).first(static_cast<std::size_t>(std::min(bytes - at, kChunk)));
      ok = give(from, at, some) && take(into, at, some);
    }
    done->fire(done, ok);
  }
  bool folds(const Fold&) const override { return false; }  // in host memory
  void fold(const Fold&, Done* done) override { done->fire(done, false); }
  int progress() override { return 0; }  // nothing of ours is ever under way
  // Each owner has a mark of its own, and the caller waits for one after the other.
  Device* begin_call() override {
    for (Device* device : owners_)
      if (Device* const begun = devices_.begin(device); begun != device) return begun;
    return this;
  }
  void await_caller(Done* done) override {
    struct All final : Done {
      Done* of;
      std::size_t left;
      bool ok = true;
    };
    auto* const all = std::make_unique<All>().release();  // until the last has fired
    all->of = done;
    all->left = owners_.size() + 1;
    all->fire = [](Done* self, bool ok) {
      auto* const one = static_cast<All*>(self);
      one->ok &= ok;
      if (--one->left > 0) return;
      const std::unique_ptr<All> ended(one);
      ended->of->fire(ended->of, ended->ok);
    };
    for (Device* const owner : owners_) try {
        owner->await_caller(all);
      } catch (const std::bad_alloc&) {  // that one is not waited for
        all->fire(all, false);
      }
    all->fire(all, true);
  }

  void note_owner(Device* device) {
    if (std::ranges::find(owners_, device) == owners_.end()) owners_.push_back(device);
  }

 private:
  static constexpr Count kChunk = Count{64} << 10;

  bool give(const Buffer& from, Count offset, std::span<std::byte> out) const {
    return each_part(from, offset, out.size(), [&](const Buffer& part, std::size_t at) {
      types::pack(part, 0, out.subspan(at, static_cast<std::size_t>(part.bytes)));
    });
  }
  bool take(const Buffer& into, Count offset, std::span<const std::byte> in) const {
    return each_part(into, offset, in.size(), [&](const Buffer& part, std::size_t at) {
      types::unpack(part, 0, in.subspan(at, static_cast<std::size_t>(part.bytes)));
    });
  }
  template <class Move>
  bool each_part(const Buffer& of, Count offset, std::size_t bytes, Move move) const {
    std::array<Piece, 32> list;
    bool ok = true;
    for (std::size_t done = 0; done < bytes;) {
      Count covered = 0;
      const std::size_t count = pieces(of, offset + static_cast<Count>(done), list, &covered);
      for (std::size_t i = 0; i < count && done < bytes; ++i) {
        const std::size_t length = std::min(list[i].bytes, bytes - done);
        Buffer part = Buffer::plain(list[i].data, static_cast<Count>(length));
        part.device = devices_.find(part.data);
        move(part, done);
        ok = failure_of(part.device) == Code::ok && ok;
        done += length;
      }
    }
    return ok;
  }

  const Devices& devices_;
  std::vector<Device*> owners_;  // of all such messages so far
};

// Each once, null: the host's; or one alone that is not usable.
std::vector<Device*> Devices::find_parts(const Buffer& message) const {
  if (message.is_one_run()) return {find(message.at())};
  std::array<Piece, 32> list;
  std::vector<Device*> owners;
  for (Count at = 0, covered = 0; at < message.bytes; at += covered) {
    const std::size_t count = pieces(message, at, list, &covered);
    for (std::size_t i = 0; i < count; ++i) {
      Device* const owner = find(list[i].data);
      if (owner != nullptr && !owner->is_usable()) return {owner};
      if (std::ranges::find(owners, owner) == owners.end()) owners.push_back(owner);
    }
  }
  return owners;
}

// Who works on a message that lies in the memory of all of these.
Device* Devices::worker_on(std::span<Device* const> owners) const {
  if (owners.size() == 1) return owners.front();
  if (mixed_ == nullptr) mixed_ = std::make_shared<Mixed>(*this);
  for (Device* const owner : owners)
    if (owner != nullptr) mixed_->note_owner(owner);
  return mixed_.get();
}

Device* Devices::owner_of_parts(const Buffer& message) const {
  const std::vector<Device*> owners = find_parts(message);
  for (Device* const owner : owners)
    if (Device* const begun = begin(owner); begun != owner) return begun;
  return worker_on(owners);
}

}  // namespace tutti::types
