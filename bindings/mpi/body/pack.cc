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

}  // namespace tutti::mpi::body
