// device.h: memory that is not the host's, and who works on it (part of this room's door, types.h
// includes it).
//
// The processor may not touch such memory: its Device does, and may end what it was asked for
// later. A vendor is one class. Whoever knows of no device pays one branch: Buffer::device is null.
#pragma once

#include <utility>
#include <vector>

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

// Work on a kind of memory. Each call begins some and fires `done` once, before it returns or
// inside progress(). What was begun may end in any order: who needs an order waits between.
// Buffers, and what is on the host's side, are left alone until then. progress() may be called
// inside a `done`.
class Device {
 public:
  virtual ~Device() = default;
  virtual MemoryKind kind() const = 0;
  virtual int number() const = 0;  // among those of its kind
  // False: memory that nobody can work on, such as that which was freed; what is asked for fails.
  virtual bool is_usable() const { return true; }
  // Work that was waited for on the spot has failed: whoever can tell a caller so takes it.
  void note_failure() { has_failed_ = true; }
  bool take_failure() { return std::exchange(has_failed_, false); }
  virtual bool owns(const void* address) const = 0;
  // pack() and unpack() of types.h, into and out of host memory.
  virtual void pack(const Buffer& from, Count offset, std::span<std::byte> out, Done* done) = 0;
  virtual void unpack(const Buffer& into, Count offset, std::span<const std::byte> in,
                      Done* done) = 0;
  virtual void copy(const Buffer& from, const Buffer& into, Done* done) = 0;  // both are its own
  // Whether it folds these, by a predefined operation; what it does not is done in host memory.
  virtual bool folds(const Fold& fold) const = 0;
  virtual void fold(const Fold& fold, Done* done) = 0;
  virtual int progress() = 0;  // how much has ended
  // A call of the user's begins: what its caller gave the device before comes before what is asked
  // for from now on.
  virtual void begin_call() = 0;

 private:
  bool has_failed_ = false;
};

// What a call says whose buffers are of this device (null: the host's), when its work is done.
inline Code failure_of(Device* device) {
  if (device == nullptr) [[likely]]
    return Code::ok;
  if (!device->is_usable()) return Code::buffer;
  return device->take_failure() ? Code::other : Code::ok;
}
inline Code failure_of(const Buffer& one, const Buffer& other) {
  const Code first = failure_of(one.device), second = failure_of(other.device);
  return first != Code::ok ? first : second;
}

// Whose devices may come to be while the program runs.
class Vendor {
 public:
  virtual ~Vendor() = default;
  // Null: not of this vendor. For a call that begins now.
  virtual Device* owner_of(const void* address) = 0;
  virtual int progress() = 0;
};

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
  // Null: the host's. For a call that begins now.
  Device* owner_of(const void* address) const;
  // Buffer::whole with its device: what is asked once for each buffer of a user's call.
  Buffer whole(const void* data, Count count, const Datatype& type) const {
    Buffer buffer = Buffer::whole(const_cast<void*>(data), count, type);
    if (!is_empty()) [[unlikely]]
      buffer.device = owner_of(buffer.at());
    return buffer;
  }
  int progress();

 private:
  bool is_empty_ = true;  // every call asks
  std::vector<Device*> all_;
  std::vector<Vendor*> vendors_;
};

// Of memory of which some is a device's. They fire `done` as a device does.
void begin_copy(const Buffer& from, const Buffer& into, Done* done);
// A user's operation, and what the device does not fold, is given host memory, waiting.
void begin_fold(const Fold& fold, Done* done);
void fold(const Fold& fold);  // waits

}  // namespace tutti::types
