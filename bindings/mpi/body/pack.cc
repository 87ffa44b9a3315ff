// Chapter 5: packing into and out of contiguous memory. The packed form is the message itself.
#include <cstring>

#include "bodies.h"
#include "mpi/checks.h"
#include "mpi/memory.h"
#include "mpi/trouble.h"

namespace tutti::mpi::body {
namespace {

types::Buffer window(const void* memory, Count from, Count bytes) {
  return bytes_at(static_cast<const std::byte*>(memory) + from, bytes);
}

// The bytes of a window where the processor may touch them, while this lives.
class HostWindow {
 public:
  explicit HostWindow(const types::Buffer& window) : window_(window) {
    if (window.device != nullptr) copy_.resize(static_cast<std::size_t>(window.bytes));
  }
  std::byte* data() { return window_.device == nullptr ? window_.at() : copy_.data(); }
  Code read() { return window_.device == nullptr ? Code::ok : copy_message(window_, copied()); }
  Code write() { return window_.device == nullptr ? Code::ok : copy_message(copied(), window_); }

 private:
  types::Buffer copied() { return types::Buffer::plain(copy_.data(), window_.bytes); }
  const types::Buffer window_;
  std::vector<std::byte> copy_;
};

Code too_short(const char* which, Count needed, Count left) {
  return refuse(Code::truncate, std::string(which) + " has " + std::to_string(left) +
                                    " bytes left, " + std::to_string(needed) + " are needed");
}

bool is_known(const char* datarep) {
  return std::strcmp(datarep, "external32") == 0;
}
Code unknown_form(const char* datarep) {
  return refuse(static_cast<Code>(MPI_ERR_UNSUPPORTED_DATAREP),
                "datarep is \"" + std::string(datarep) + "\"; \"external32\" is known");
}

}  // namespace

Code pack(const void* inbuf, Count incount, types::Datatype& datatype, void* outbuf, Count outsize,
          Count* position, comm::Communicator& /*comm*/) {
  const auto from = message_at(inbuf, incount, datatype);
  if (*position < 0 || from.bytes > outsize - *position)
    return too_short("outbuf", from.bytes, outsize - *position);
  const auto into = window(outbuf, *position, from.bytes);
  if (const Code code = copy_message(from, into); code != Code::ok) return code;
  *position += from.bytes;
  return Code::ok;
}

Code unpack(const void* inbuf, Count insize, Count* position, void* outbuf, Count outcount,
            types::Datatype& datatype, comm::Communicator& /*comm*/) {
  const auto into = message_at(outbuf, outcount, datatype);
  if (*position < 0 || into.bytes > insize - *position)
    return too_short("inbuf", into.bytes, insize - *position);
  const auto from = window(inbuf, *position, into.bytes);
  if (const Code code = copy_message(from, into); code != Code::ok) return code;
  *position += into.bytes;
  return Code::ok;
}

Code pack_size(Count incount, types::Datatype& datatype, comm::Communicator& /*comm*/,
               Count* size) {
  if (!good_bytes(incount, datatype.size(), "incount")) return Code::count;
  *size = incount * datatype.size();
  return Code::ok;
}

Code pack_external(const char* datarep, const void* inbuf, Count incount, types::Datatype& datatype,
                   void* outbuf, Count outsize, Count* position) {
  if (!is_known(datarep)) return unknown_form(datarep);
  const Count each = types::external_size(datatype);
  if (!good_bytes(incount, each, "incount")) return Code::count;
  const Count bytes = incount * each;
  if (*position < 0 || bytes > outsize - *position)
    return too_short("outbuf", bytes, outsize - *position);
  const auto from = message_at(inbuf, incount, datatype);
  HostWindow out(window(outbuf, *position, bytes));
  await_caller(from);
  if (const auto done = types::pack_external(from, out.data()); !done) return note(done);
  if (const Code code = types::failure_of(from.device); code != Code::ok) return code;
  if (const Code code = out.write(); code != Code::ok) return code;
  *position += bytes;
  return Code::ok;
}

Code unpack_external(const char* datarep, const void* inbuf, Count insize, Count* position,
                     void* outbuf, Count outcount, types::Datatype& datatype) {
  if (!is_known(datarep)) return unknown_form(datarep);
  const Count each = types::external_size(datatype);
  if (!good_bytes(outcount, each, "outcount")) return Code::count;
  const Count bytes = outcount * each;
  if (*position < 0 || bytes > insize - *position)
    return too_short("inbuf", bytes, insize - *position);
  const auto into = message_at(outbuf, outcount, datatype);
  HostWindow in(window(inbuf, *position, bytes));
  if (const Code code = in.read(); code != Code::ok) return code;
  await_caller(into);
  if (const auto done = types::unpack_external(into, in.data()); !done) return note(done);
  if (const Code code = types::failure_of(into.device); code != Code::ok) return code;
  *position += bytes;
  return Code::ok;
}

Code pack_external_size(const char* datarep, Count incount, types::Datatype& datatype,
                        Count* size) {
  if (!is_known(datarep)) return unknown_form(datarep);
  const Count each = types::external_size(datatype);
  if (!good_bytes(incount, each, "incount")) return Code::count;
  *size = incount * each;
  return Code::ok;
}

}  // namespace tutti::mpi::body
