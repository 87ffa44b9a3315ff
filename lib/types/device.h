// device.h: memory that is not the host's, and who works on it (part of this room's door, types.h
// includes it).
//
// The processor may not touch such memory: its Device does, and may end what it was asked for
// later. A vendor is one class. Whoever knows of no device pays one branch: Buffer::device is null.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/memory.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "types/types.h"

namespace tutti::types {

class Op;

// into[i] = from[i] op into[i], or (not from_first) into[i] op from[i]: as many elements of one
// type as both hold. Either may be the host's.
struct Fold {
  const Op* op = nullptr;
  Buffer from, into;
  bool from_first = true;
};

// What a device measured when it was first asked.
struct CopyPace {
  std::size_t chunk = std::size_t{64} << 10;  // copied to and from the host at a time
};

// Work on a kind of memory. Each call begins some and fires `done` once, before it returns or
// inside progress(). What was begun may end in any order: who needs an order waits between.
// Buffers, and what is on the host's side, are left alone until then. progress() may be called
// inside a `done`.
class Device {
 public:
  virtual ~Device() = default;
  virtual MemoryKind kind() const = 0;
  virtual int number() const = 0;  // among those of its kind
  // False: memory that nobody can work on, such as that which was freed; what is asked for fails,
  // with this code.
  virtual bool is_usable() const { return true; }
  virtual Code refusal() const { return Code::buffer; }
  // Work that was waited for on the spot has failed: whoever can tell a caller so takes it.
  void note_failure() { has_failed_ = true; }
  bool take_failure() { return std::exchange(has_failed_, false); }
  virtual bool owns(const void* address) const = 0;
  // pack() and unpack() of types.h, into and out of host memory.
  virtual void pack(const Buffer& from, Count offset, std::span<std::byte> out, Done* done) = 0;
  virtual void unpack(const Buffer& into, Count offset, std::span<const std::byte> in,
                      Done* done) = 0;
  // Both are its own, or it copies from the other's device and both lie in one piece.
  virtual void copy(const Buffer& from, const Buffer& into, Done* done) = 0;
  virtual bool copies_from(const Device&) const { return false; }
  // Whether it folds these, by a predefined operation; what it does not is done in host memory.
  // `from` may be of a device that it copies from.
  virtual bool folds(const Fold& fold) const = 0;
  virtual void fold(const Fold& fold, Done* done) = 0;
  // Whether it takes these elements of two-byte floats, which are its own, to those of their
  // accumulator (types::widen), and back, rounded; those lie as take_scratch() gives them.
  virtual bool widens(const Buffer&) const { return false; }
  virtual void convert(const Buffer&, const Buffer&, Done* done) { done->fire(done, false); }
  virtual int progress() = 0;  // how much has ended
  // A call of the user's begins: what its caller gave the device before comes before what is asked
  // for from now on. Gives who works for this call: where nobody can tell when that has ended, one
  // that is not usable, and other calls go on.
  virtual Device* begin_call() = 0;
  // begin_call() in steps, between which others work: the caller takes a mark; puts it, with
  // nothing held that they need, since that may wait until another thread's copies have ended;
  // waits until it is reached, and has given it back then; or begins at once, with what the mark
  // stands for still ahead.
  struct Mark {
    void* event = nullptr;
    int failure = 0;           // the device's word for it
    std::uint64_t number = 0;  // those put later have higher ones
  };
  virtual Mark take_mark() { return {}; }
  virtual void put_mark(Mark&) {}
  virtual bool give_back_if_reached(Mark&) { return true; }
  virtual Device* begin_reached_call(const Mark&) { return begin_call(); }
  virtual Device* begin_marked_call(Mark&) { return begin_call(); }
  // `done` when what the caller gave the device before its latest call has ended: from then on
  // others may read the device's memory.
  virtual void await_caller(Done* done) = 0;
  // Whether what it is asked for waits for that, which may itself wait for a message of ours.
  virtual bool stands_behind_caller() { return false; }
  virtual CopyPace pace() { return {}; }
  // Memory for temporaries, which neighbours reach as they reach the user's; aligned as any element
  // wants it. Null: there is none now, or for so few bytes the host's serves better. Waits for
  // nothing. It is given back when no work, here or a neighbour's, is at it any more; what is not
  // given back ends with the device.
  virtual std::byte* take_scratch(std::size_t) { return nullptr; }
  virtual void give_scratch(std::byte*) {}

 private:
  bool has_failed_ = false;
};

// A queue of the user's on a device, such as a CUDA stream. Numbers, which wrap around, say how far
// it is: it writes the number that it has reached, and stands still there until it is let pass.
class DeviceQueue {
 public:
  virtual ~DeviceQueue() = default;
  // Puts a mark behind all that the queue holds: there it says that it has reached `number`, and
  // with `waits` it stands still until pass() names that number or a later one. From any thread,
  // one at a time. May block while the queue is full: the caller holds nothing that those need who
  // let it pass.
  virtual Result<void> mark(std::uint32_t number, bool waits) = 0;
  // Whether it takes anything now: what is captured does not.
  virtual Result<void> look() const = 0;
  virtual std::uint32_t reached() const = 0;    // when it was opened: the number before the first
  virtual void pass(std::uint32_t number) = 0;  // any thread
  virtual bool is_lost() const = 0;             // its device: it will reach nothing any more
  virtual const std::string& name() const = 0;  // "stream 0x5560 of GPU 0"
  virtual void* handle() const = 0;             // the vendor's
  virtual int device() const = 0;               // its number
};

// What a neighbour reaches something of ours by: it can while `hold` lives.
struct Exported {
  Blob key;
  std::shared_ptr<void> hold;
};

// Brings descriptors to neighbours: some memory has no other name.
class Courier {
 public:
  virtual ~Courier() = default;
  virtual Result<Exported> give(int fd) = 0;
  virtual Result<UniqueFd> take(BlobView key) = 0;
};

// A neighbour's. It outlives what is read from it.
class Imported {
 public:
  virtual ~Imported() = default;
  // Begins to copy into.bytes bytes from `offset`; into the host's memory or a device's. An error
  // where they are not all inside, or no device here reaches them: nothing was begun.
  virtual Result<void> read(std::uint64_t offset, const Buffer& into, Done* done) = 0;
};

// How a call ends whose buffers lie in this device's memory (null: host memory), once its work is
// done.
inline Code failure_of(Device* device) {
  if (device == nullptr) [[likely]]
    return Code::ok;
  if (!device->is_usable()) return device->refusal();
  return device->take_failure() ? Code::other : Code::ok;
}
inline Code failure_of(const Buffer& one, const Buffer& other) {
  const Code first = failure_of(one.device), second = failure_of(other.device);
  return first != Code::ok ? first : second;
}

// Calls that users put into queues, and who works on them.
class Enqueued {
 public:
  virtual bool is_under_way() const = 0;
  virtual void pause() = 0;  // lets them go on for a moment: the gate is free meanwhile
  // The same for as long as the caller is out. False: it is not, being inside of another call.
  virtual bool step_out() = 0;
  virtual void step_in() = 0;
  // True: none is under way, and none comes to be until end_rest(). Does not wait.
  virtual bool begin_rest() = 0;
  virtual void end_rest() = 0;
  // This thread asks the vendor's driver, by a function of this name; null: it has its answer.
  // `is_barred`: who waits for a queue in there is known to keep it waiting.
  virtual void ask(const char* function, bool is_barred) = 0;

 protected:
  ~Enqueued() = default;
};

// Whose devices may come to be while the program runs.
class Vendor {
 public:
  virtual ~Vendor() = default;
  // Null: not of this vendor. For a call that begins now, unless its caller sees to that.
  virtual Device* owner_of(const void* address, bool begins_call = true) = 0;
  // Whether a library that works in the primary context of the memory's device (NCCL) reaches this
  // address and, in a call that begins now, comes after what its caller gave the device; true where
  // it is not of this vendor.
  virtual bool is_for_libraries(const void*, bool /*begins_call*/ = true) { return true; }
  // Whether the program can have such memory: what the vendor's library says. While that is not
  // loaded, yes, since it may come; likewise while it is not initialised, unless it `may_start`.
  virtual bool ask_for_devices(bool may_start) = 0;
  // Number of the device that the calling thread has chosen; -1: none.
  virtual int chosen_device() { return -1; }
  virtual int progress() = 0;
  virtual bool one_stands_behind_caller() { return false; }  // of its devices
  virtual const char* queue_type() const = 0;                // the C type of its queues' handles
  virtual Result<std::unique_ptr<DeviceQueue>> open_queue(std::uintptr_t handle) = 0;
  // Bit N modulo 64 of these is set when the process is known to use device N; they outlive this.
  virtual void show_use_in(std::atomic<std::uint64_t>& bits) = 0;
  virtual void begin_thread() const {}  // this thread of ours will work on its devices
  // A library has loaded its kernels: what the driver puts before the next one, it does now, while
  // queues rest (record 0086).
  virtual void settle_kernels() {}
  // Null: there are no queues any more. Calls in which the driver may wait for queues are made
  // while those rest (begin_rest).
  virtual void set_enqueued(Enqueued* enqueued) = 0;
  virtual MemoryKind kind() const = 0;
  // Memory that lies in one piece of what was allocated, for neighbours to read; the key's first
  // byte is the kind. An error says why nobody else reaches it.
  virtual Result<Exported> share(const Memory& memory, Courier& courier) = 0;
  // What neighbour `from` says that it exported: nothing in it is believed unseen. The courier
  // outlives what is imported.
  virtual Result<std::unique_ptr<Imported>> import(int from, BlobView key, Courier& courier) = 0;
  // How what this neighbour exported was reached, or why not; empty: it exported nothing so far.
  virtual std::string reach_text(int from) const = 0;
};

class Mixed;

// The devices of a world.
class Devices {
 public:
  void add(Device& device) {  // which outlives this
    all_.push_back(&device);
    is_empty_ = false;
  }
  void add(Vendor& vendor) {  // likewise
    vendors_.push_back(&vendor);
    is_empty_ = false;
  }
  bool is_empty() const { return is_empty_; }
  void set_enqueued(Enqueued* enqueued);  // null: there are none
  Enqueued* enqueued() const { return enqueued_; }
  // While it lives, this thread begins calls that were reached in a queue.
  class Queued {
   public:
    explicit Queued(Devices& devices) : devices_(devices) { devices_.queued_by_ = this_thread(); }
    ~Queued() { devices_.queued_by_ = nullptr; }
    Queued(const Queued&) = delete;
    Queued& operator=(const Queued&) = delete;

   private:
    Devices& devices_;
  };
  bool is_queued() const { return queued_by_ != nullptr && queued_by_ == this_thread(); }
  // Null: the host's. For a call that begins now.
  Device* owner_of(const void* address) const;
  // A call begins whose buffer's device, if it has one, was found by an earlier call. Gives who
  // works for it (Device::begin_call).
  Device* begin(Device* device) const;
  // The same of a message whose type has the addresses in itself, or that lies at a displacement
  // from nowhere (MPI_BOTTOM): what it names may lie in several memories, which has a device of its
  // own here.
  Device* owner_of_parts(const Buffer& message) const;
  // The same of blocks of one call, which begins once. Null addresses are nobody's.
  void owners_of(std::span<const void* const> addresses, std::span<Device*> owners) const;
  // Buffer::whole with its device: what is asked once for each buffer of a user's call. Where there
  // are no bytes nobody asks: the address may be anything. `is_absolute`: see owner_of_parts().
  Buffer whole(const void* data, Count count, const Datatype& type) const {
    return whole(data, count, type, data == nullptr);
  }
  Buffer whole(const void* data, Count count, const Datatype& type, bool is_absolute) const {
    Buffer buffer = Buffer::whole(const_cast<void*>(data), count, type);
    if (!is_empty() && buffer.bytes > 0) [[unlikely]]
      buffer.device = is_absolute ? owner_of_parts(buffer) : owner_of(buffer.at());
    return buffer;
  }
  // The device alone, of a message that was described before and is moved now.
  Device* owner_of(const Buffer& message) const {
    if (is_empty() || message.bytes == 0) return nullptr;
    return message.data == nullptr ? owner_of_parts(message) : owner_of(message.at());
  }
  int progress();
  bool one_stands_behind_caller() const;
  bool is_for_libraries(const void* address) const;
  std::span<Vendor* const> vendors() const { return vendors_; }

 private:
  static const void* this_thread() { return __builtin_thread_pointer(); }
  friend class Mixed;
  // These begin nothing.
  Device* find(const void* address) const;
  std::vector<Device*> find_parts(const Buffer& message) const;
  Device* worker_on(std::span<Device* const> owners) const;

  bool is_empty_ = true;  // every call asks
  const void* queued_by_ = nullptr;
  Enqueued* enqueued_ = nullptr;
  std::vector<Device*> all_;
  std::vector<Vendor*> vendors_;
  mutable std::shared_ptr<Mixed> mixed_;  // made when there is such a message
};

// Of memory of which some is a device's. They fire `done` as a device does.
void begin_copy(const Buffer& from, const Buffer& into, Done* done);
// A user's operation, and what the device does not fold, is given host memory, as it comes there.
void begin_fold(const Fold& fold, Done* done);
// By the device that both are of, which `widens` them; waits for it.
void convert_on_device(const Buffer& from, const Buffer& into);

}  // namespace tutti::types
