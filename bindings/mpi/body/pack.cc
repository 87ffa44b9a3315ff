// Chapter 5: packing into and out of contiguous memory. The packed form is the message itself.
#include <cstring>

#include "bodies.h"
#include "mpi/trouble.h"

namespace tutti::mpi::body {
namespace {

std::span<std::byte> window(const void* memory, Count from, Count bytes) {
  auto* const base = static_cast<std::byte*>(const_cast<void*>(memory));
  return {base + from, static_cast<std::size_t>(bytes)};
}

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
  const auto from = types::Buffer::whole(const_cast<void*>(inbuf), incount, datatype);
  if (*position < 0 || from.bytes > outsize - *position)
    return too_short("outbuf", from.bytes, outsize - *position);
  types::pack(from, 0, window(outbuf, *position, from.bytes));
  *position += from.bytes;
  return Code::ok;
}

Code unpack(const void* inbuf, Count insize, Count* position, void* outbuf, Count outcount,
            types::Datatype& datatype, comm::Communicator& /*comm*/) {
  const auto into = types::Buffer::whole(outbuf, outcount, datatype);
  if (*position < 0 || into.bytes > insize - *position)
    return too_short("inbuf", into.bytes, insize - *position);
  types::unpack(into, 0, window(inbuf, *position, into.bytes));
  *position += into.bytes;
  return Code::ok;
}

Code pack_size(Count incount, types::Datatype& datatype, comm::Communicator& /*comm*/,
               Count* size) {
  *size = incount * datatype.size();
  return Code::ok;
}

Code pack_external(const char* datarep, const void* inbuf, Count incount, types::Datatype& datatype,
                   void* outbuf, Count outsize, Count* position) {
  if (!is_known(datarep)) return unknown_form(datarep);
  const Count bytes = incount * types::external_size(datatype);
  if (*position < 0 || bytes > outsize - *position)
    return too_short("outbuf", bytes, outsize - *position);
  const auto from = types::Buffer::whole(const_cast<void*>(inbuf), incount, datatype);
  if (const auto done = types::pack_external(from, window(outbuf, *position, bytes).data()); !done)
    return note(done);
  *position += bytes;
  return Code::ok;
}

Code unpack_external(const char* datarep, const void* inbuf, Count insize, Count* position,
                     void* outbuf, Count outcount, types::Datatype& datatype) {
  if (!is_known(datarep)) return unknown_form(datarep);
  const Count bytes = outcount * types::external_size(datatype);
  if (*position < 0 || bytes > insize - *position)
    return too_short("inbuf", bytes, insize - *position);
  const auto into = types::Buffer::whole(outbuf, outcount, datatype);
  if (const auto done = types::unpack_external(into, window(inbuf, *position, bytes).data()); !done)
    return note(done);
  *position += bytes;
  return Code::ok;
}

Code pack_external_size(const char* datarep, Count incount, types::Datatype& datatype,
                        Count* size) {
  if (!is_known(datarep)) return unknown_form(datarep);
  *size = incount * types::external_size(datatype);
  return Code::ok;
}

}  // namespace tutti::mpi::body
