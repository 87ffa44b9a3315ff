// Streams of the process, their making and their end.
#include "mpi/streams.h"

#include <mpi-ext.h>

#include <charconv>
#include <cstring>
#include <memory>

#include "base/hex.h"
#include "bodies.h"
#include "mpi/call.h"
#include "mpi/callback.h"
#include "mpi/errors.h"
#include "mpi/exported.h"
#include "mpi/give_comm.h"
#include "mpi/trouble.h"

namespace tutti::mpi {
namespace {

std::unique_ptr<enqueue::CallStreams>& streams_owner() {
  static auto& streams = *new std::unique_ptr<enqueue::CallStreams>;
  return streams;
}

void end_job(const enqueue::Failure& failure) {
  Trouble why{.code = failure.code, .was_enqueued = true};
  add_reason(why, failure.why);
  if (failure.code == Code::proc_aborted) why.blame = wireup::Blame::another;
  raise(failure.call, static_cast<int>(failure.code), failure.comm.get(), why);
}

}  // namespace

enqueue::CallStreams& streams() {
  if (streams_owner() == nullptr) {
    streams_owner() = std::make_unique<enqueue::CallStreams>(*process.world, &end_job);
    process.streams = streams_owner().get();
  }
  return *process.streams;
}

void drain_streams() {
  if (process.streams != nullptr) process.streams->drain();
}

void drain_stream(comm::Communicator& comm) {
  const auto keep = comm.stream;
  if (keep) static_cast<enqueue::UserStream*>(keep.get())->drain();
}

void stop_streams() {
  if (streams_owner() != nullptr) streams_owner()->stop();
}

void end_streams() {
  process.streams = nullptr;
  streams_owner().reset();
}

enqueue::UserStream* queue_of(comm::Communicator& comm) {
  auto* const stream = static_cast<enqueue::UserStream*>(comm.stream.get());
  if (stream != nullptr && stream->has_queue()) return stream;
  refuse(Code::comm,
         stream == nullptr
             ? "comm has no stream; MPIX_Stream_comm_create makes one that has"
             : "the stream of comm is one of the host, in which nothing can be enqueued");
  return nullptr;
}

Code tell_failure(enqueue::UserStream& stream) {
  auto failure = stream.take_failure();
  if (!failure) return Code::ok;
  failure->why.text =
      std::string("an earlier ") + failure->call + ", " + failure->why.text + ", failed";
  refuse_on(failure->comm.get(), failure->code, {});
  add_reason(trouble(), failure->why);
  return failure->code;
}

// The gate is free while the stream is given its work: who is to make room in it needs the gate.
Code put(enqueue::UserStream& stream, enqueue::QueuedCall& operation) {
  if (const Code code = tell_failure(stream); code != Code::ok) return code;
  Result<void> done;
  {
    const Outside outside;
    done = stream.put(operation);
  }
  return done ? Code::ok : note(done);
}

namespace {

// "4f1c...": the bytes of a handle.
std::optional<std::uintptr_t> handle_in(const std::string& hex) {
  std::uintptr_t handle = 0;
  if (hex.size() != 2 * sizeof handle) return std::nullopt;
  unsigned char bytes[sizeof handle];
  for (std::size_t i = 0; i < sizeof handle; ++i) {
    const char* const begin = hex.data() + 2 * i;
    const auto [end, error] = std::from_chars(begin, begin + 2, bytes[i], 16);
    if (error != std::errc() || end != begin + 2) return std::nullopt;
  }
  std::memcpy(&handle, bytes, sizeof handle);
  return handle;
}

Code create(const Info* info, MPIX_Stream* stream) {
  const std::string* const type = info == nullptr ? nullptr : info->find("type");
  if (type == nullptr) {
    *stream = handle_to(streams().open_of_host().hand_out(), MPIX_STREAM_NULL);
    return Code::ok;
  }
  const std::string* const value = info->find("value");
  const auto handle = value == nullptr ? std::nullopt : handle_in(*value);
  if (!handle)
    return refuse(static_cast<Code>(MPI_ERR_INFO_VALUE),
                  "\"value\" of info is not a handle of type " + *type +
                      ": it is set by MPIX_Info_set_hex(info, \"value\", &stream, sizeof stream)");
  // A thread of ours comes beside: whoever is on the way through a call above does not expect one.
  if (!process.gated && process.callbacks > 0)
    return refuse(
        Code::other,
        "the first stream cannot be made by a function that MPI calls, unless the program "
        "asked for MPI_THREAD_MULTIPLE");
  const std::string* const promise = info->find("tutti_assert_gpu_buffers");
  auto made = streams().open(*type, *handle, promise != nullptr && *promise == "true");
  process.gated = process.world->is_gated();
  if (!made) return note(made);
  *stream = handle_to(made->hand_out(), MPIX_STREAM_NULL);
  return Code::ok;
}

Code free(MPIX_Stream* handle) {
  enqueue::UserStream* const stream = stream_of(bits_of(*handle));
  if (stream == nullptr) return refuse(Code::arg, "stream is not a stream, or was freed");
  const auto keep = Ref<enqueue::UserStream>::share(stream);
  stream->close();
  const Code code = tell_failure(*stream);
  slots::hide(stream);  // communicators may keep it
  stream->release();
  *handle = MPIX_STREAM_NULL;
  return code;
}

Code comm_create(comm::Communicator& comm, MPIX_Stream handle, MPI_Comm* newcomm) {
  enqueue::UserStream* const stream = stream_of(bits_of(handle));
  if (stream == nullptr && handle != MPIX_STREAM_NULL)
    return refuse(Code::arg, "stream is not a stream, or was freed");
  Result<comm::CommRef> made = comm::dup(comm);
  if (made)
    if (const Code code = enqueue::UserStream::attach(**made, stream); code != Code::ok)
      return code;
  return give_comm(comm, std::move(made), newcomm);
}

Code set_hex(Info* info, const char* key, const void* value, int bytes) {
  if (info == nullptr || info->is_predefined())
    return refuse(static_cast<Code>(MPI_ERR_INFO), "info is not an info object of the user's");
  if (key == nullptr || value == nullptr || bytes < 0)
    return refuse(Code::arg, "key or value is null, or value_size below zero");
  if (bytes > (MPI_MAX_INFO_VAL - 1) / 2)
    return refuse(static_cast<Code>(MPI_ERR_INFO_VALUE),
                  "a value of " + std::to_string(bytes) + " bytes is longer than " +
                      std::to_string((MPI_MAX_INFO_VAL - 1) / 2));
  const std::string digits = text::hex(value, static_cast<std::size_t>(bytes));
  return body::info_set(*info, key, digits.c_str());
}

// Without a communicator.
template <class Body>
int run(function::Number number, Body body) {
  const CallScope call(number, CallScope::inside);
  if (!call.allowed()) return call.refuse(nullptr);
  const Code code = coded(body);
  return code == Code::ok ? MPI_SUCCESS : call.fail(code, nullptr);
}

}  // namespace
}  // namespace tutti::mpi

using namespace tutti;       // NOLINT(google-build-using-namespace): C functions
using namespace tutti::mpi;  // NOLINT(google-build-using-namespace): C functions

TUTTI_EXPORTED int MPIX_Info_set_hex(MPI_Info info, const char* key, const void* value,
                                     int value_size) {
  return run(function::Info_set_hex,
             [&] { return set_hex(info_of(info), key, value, value_size); });
}

TUTTI_EXPORTED int MPIX_Stream_create(MPI_Info info, MPIX_Stream* stream) {
  return run(function::Stream_create, [&] {
    if (!good_info_or_null(info_of(info), info, "info") || !good_pointer(stream, "stream"))
      return trouble().code;
    return create(info_of(info), stream);
  });
}

TUTTI_EXPORTED int MPIX_Stream_free(MPIX_Stream* stream) {
  return run(function::Stream_free,
             [&] { return good_pointer(stream, "stream") ? free(stream) : trouble().code; });
}

TUTTI_EXPORTED int MPIX_Stream_comm_create(MPI_Comm comm, MPIX_Stream stream, MPI_Comm* newcomm) {
  return run_on(function::Stream_comm_create, comm, [&](comm::Communicator& parent) {
    return good_pointer(newcomm, "newcomm") ? comm_create(parent, stream, newcomm) : trouble().code;
  });
}

TUTTI_EXPORTED int MPIX_Comm_get_stream(MPI_Comm comm, int idx, MPIX_Stream* stream) {
  return run_on(function::Comm_get_stream, comm, [&](comm::Communicator& on) {
    if (!good_pointer(stream, "stream")) return trouble().code;
    if (idx != 0) return refuse(Code::arg, "idx is not 0: a communicator has one stream");
    const Handle handle = on.stream ? on.stream->handle() : 0;
    *stream = handle_to(stream_of(handle), MPIX_STREAM_NULL);
    return Code::ok;
  });
}
