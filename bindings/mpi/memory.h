// memory: buffers that a call moves itself, with whose memory they are (types::Device).
#pragma once

#include "mpi/process.h"

namespace tutti::mpi {

inline types::Buffer message_at(const void* data, Count count, const types::Datatype& type) {
  return process.world->endpoint().devices().whole(data, count, type);
}
// Plain bytes. Where there are none nobody asks whose they are, as above.
inline types::Buffer bytes_at(const void* data, Count bytes) {
  types::Buffer plain = types::Buffer::plain(const_cast<void*>(data), bytes);
  const types::Devices& devices = process.world->endpoint().devices();
  if (!devices.is_empty() && bytes > 0) [[unlikely]]
    plain.device = devices.owner_of(data);
  return plain;
}

// Waits for a device's work; other threads' calls go on meanwhile.
inline Code end_work(p2p::Pending* work) {
  return process.world->endpoint().end(work);
}
// The same for what its caller gave a buffer's device before: for who copies on the spot next.
inline void await_caller(const types::Buffer& buffer) {
  if (buffer.device != nullptr) [[unlikely]]
    end_work(process.world->endpoint().await_caller(*buffer.device));
}
// Copies a whole message, the shorter of both.
inline Code copy_message(const types::Buffer& from, const types::Buffer& into) {
  if (from.device != nullptr || into.device != nullptr) [[unlikely]]
    return end_work(process.world->endpoint().copy(from, into));
  types::copy(from, into);
  return Code::ok;
}

}  // namespace tutti::mpi
