// A connection whose two ends are one socket.
#pragma once

namespace tutti {

// Who calls a port of this machine at which nobody listens can be given that very port as its own,
// and then TCP connects it to itself (RFC 9293, simultaneous open). Nobody answers there, and it
// keeps from listening whoever is to.
bool reaches_itself(int socket);

}  // namespace tutti
