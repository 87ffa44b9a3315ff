// Work on memory that is not the host's: through its device, and waiting for it where no caller can
// be told later.
#include <algorithm>
#include <memory>
#include <utility>

#include "base/backoff.h"
#include "types/by_device.h"

namespace tutti::types {
namespace {

// Something that this thread waits for on the spot.
class Awaited final : public Done {
 public:
  explicit Awaited(Device& device, Device* other = nullptr) : device_(device), other_(other) {
    fire = [](Done* self, bool ok) {
      static_cast<Awaited*>(self)->ended_ = true;
      static_cast<Awaited*>(self)->ok_ = ok;
    };
  }
  // What failed has said why; the call goes on, with what is there, and ends with an error.
  void wait() {
    wait_until([this] {
      if (!ended_) {
        device_.progress();
        if (other_ != nullptr) other_->progress();
      }
      return ended_;
    });
    if (!ok_) device_.note_failure();
  }

 private:
  Device& device_;
  Device* const other_;
  bool ended_ = false, ok_ = true;
};

// Where elements of a buffer lie in host memory: there, or in room of ours.
class HostElements {
 public:
  HostElements(const Buffer& of, bool is_ours) : of_(of), here_(of) {
    if (!is_ours) return;
    const Count stride = (of.count - 1) * of.type->extent();
    const Count lowest = std::min<Count>(0, stride) + of.type->true_lower_bound();
    const Count bytes = std::max(stride, -stride) + of.type->true_extent();
    memory_ = std::make_unique<std::byte[]>(static_cast<std::size_t>(bytes));
    here_ = Buffer::whole(memory_.get() - lowest, of.count, *of.type);
  }
  bool is_ours() const { return memory_ != nullptr; }
  void* data() const { return here_.data; }
  void begin_read(Done* done) const { begin_copy(of_, here_, done); }
  void begin_write(Done* done) const { begin_copy(here_, of_, done); }

 private:
  const Buffer of_;
  std::unique_ptr<std::byte[]> memory_;
  Buffer here_;
};

// A fold in host memory: operands come, are folded, and the result goes back, each when what was
// before has ended. What a device holds already may wait for a message of ours: so nobody waits on
// the spot. Ends itself, perhaps inside a device's progress, where a user's function is called,
// too.
class HostFold final : public WatchedDone {
 public:
  HostFold(const Fold& fold, Done* done)
      : fold_(fold),
        done_(done),
        from_(fold.from, fold.from.device != nullptr),
        into_(fold.into, fold.into.device != nullptr),
        spare_(fold.into, !fold.from_first) {
    fire = [](Done* self, bool ok) {
      auto* const mine = static_cast<HostFold*>(self);
      mine->note_fired();
      mine->go_on(ok);
    };
  }
  void go_on(bool ok) {
    while (ok && stage_ != Stage::over) {
      const Stage now = stage_;
      stage_ = static_cast<Stage>(static_cast<int>(now) + 1);
      if (now == Stage::fold)
        fold();
      else if ((now == Stage::from ? from_ : into_).is_ours()) {
        if (begins([&] { begin(now); })) return;
        ok = false;
      }
    }
    Done* const done = done_;
    delete this;
    done->fire(done, ok);
  }

 private:
  enum class Stage { from, into, fold, back, over };
  void begin(Stage now) {
    if (now == Stage::from) return from_.begin_read(this);
    if (now == Stage::into) return into_.begin_read(this);
    into_.begin_write(this);
  }
  void fold() const {
    const Datatype& type = *fold_.into.type;
    if (fold_.from_first)
      fold_.op->fold(from_.data(), into_.data(), fold_.into.count, type);
    else
      fold_.op->fold_right(from_.data(), into_.data(), fold_.into.count, type, spare_.data());
  }

  const Fold fold_;
  Done* const done_;
  Stage stage_ = Stage::from;
  const HostElements from_, into_, spare_;
};

}  // namespace

MemoryKind Buffer::kind() const {
  return device == nullptr ? MemoryKind::host : device->kind();
}

Device* Devices::find(const void* address) const {
  for (Device* device : all_)
    if (device->owns(address)) return device;
  for (Vendor* vendor : vendors_)
    if (Device* const device = vendor->owner_of(address, false)) return device;
  return nullptr;
}

Device* Devices::owner_of(const void* address) const {
  return begin(find(address));
}

// No page that the processor reads has memory of a device, too.
void Devices::owners_of(std::span<const void* const> addresses, std::span<Device*> owners) const {
  constexpr std::uintptr_t kPage = 4096;
  std::uintptr_t of_host = 0;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const auto page = reinterpret_cast<std::uintptr_t>(addresses[i]) / kPage;
    owners[i] = page == of_host ? nullptr : find(addresses[i]);
    if (owners[i] == nullptr)
      of_host = page;
    else if (std::find(owners.begin(), owners.begin() + static_cast<std::ptrdiff_t>(i),
                       owners[i]) == owners.begin() + static_cast<std::ptrdiff_t>(i))
      owners[i] = begin(owners[i]);
  }
}

// A call that a queue has reached begins at once: it comes after what that queue held, and after
// nothing else. Any other call comes after what the default queue holds, and that may wait for a
// call in a queue. Were our work put behind it, that call could not get past our work, in the
// device or among messages to the same peer. So the caller itself waits here, with the gate free
// meanwhile.
Device* Devices::begin(Device* device) const {
  if (device == nullptr) return nullptr;
  if (enqueued_ == nullptr) return device->begin_call();
  if (is_queued()) return device;
  Device::Mark mark = device->take_mark();
  const bool is_out = enqueued_->step_out();
  device->put_mark(mark);
  if (is_out) enqueued_->step_in();
  while (!device->give_back_if_reached(mark)) {
    if (!enqueued_->is_under_way()) return device->begin_marked_call(mark);
    enqueued_->pause();
  }
  return device->begin_reached_call(mark);
}

void Devices::set_enqueued(Enqueued* enqueued) {
  enqueued_ = enqueued;
  for (Vendor* vendor : vendors_) vendor->set_enqueued(enqueued);
}

int Devices::progress() {
  int ended = 0;
  for (Device* device : all_) ended += device->progress();
  for (Vendor* vendor : vendors_) ended += vendor->progress();
  return ended;
}

bool Devices::one_stands_behind_caller() const {
  return std::ranges::any_of(all_, [](Device* each) { return each->stands_behind_caller(); }) ||
         std::ranges::any_of(vendors_,
                             [](Vendor* each) { return each->one_stands_behind_caller(); });
}

bool Devices::is_for_libraries(const void* address) const {
  return std::ranges::all_of(
      vendors_, [&](Vendor* each) { return each->is_for_libraries(address, !is_queued()); });
}

void pack_by_device(const Buffer& from, Count offset, std::span<std::byte> out) {
  Awaited packed(*from.device);
  from.device->pack(from, offset, out, &packed);
  packed.wait();
}

void unpack_by_device(const Buffer& into, Count offset, std::span<const std::byte> in) {
  Awaited unpacked(*into.device);
  into.device->unpack(into, offset, in, &unpacked);
  unpacked.wait();
}

void copy_by_device(const Buffer& from, const Buffer& into) {
  Device* const one = into.device != nullptr ? into.device : from.device;
  Awaited copied(*one, from.device);
  begin_copy(from, into, &copied);
  copied.wait();
}

void convert_on_device(const Buffer& from, const Buffer& into) {
  Awaited converted(*from.device);
  from.device->convert(from, into, &converted);
  converted.wait();
}

void begin_copy(const Buffer& from, const Buffer& into, Done* done) {
  const auto bytes = static_cast<std::size_t>(std::min(from.bytes, into.bytes));
  if (from.device != nullptr && from.device == into.device)
    return from.device->copy(from, into, done);
  if (from.device != nullptr && into.is_contiguous())
    return from.device->pack(from, 0, {into.at(), bytes}, done);
  if (into.device != nullptr && from.is_contiguous())
    return into.device->unpack(into, 0, {from.at(), bytes}, done);
  if (from.device != nullptr && into.device != nullptr && from.is_one_run() && into.is_one_run() &&
      into.device->copies_from(*from.device))
    return into.device->copy(from, into, done);
  begin_relay(from, into, done);
}

void begin_fold(const Fold& fold, Done* done) {
  Device* const device = fold.into.device != nullptr ? fold.into.device : fold.from.device;
  const bool is_near = fold.from.device == nullptr || fold.from.device == device ||
                       device->copies_from(*fold.from.device);
  if (is_near && device->folds(fold)) return device->fold(fold, done);
  if (fold.into.count == 0) return done->fire(done, true);
  std::make_unique<HostFold>(fold, done).release()->go_on(true);
}

}  // namespace tutti::types
