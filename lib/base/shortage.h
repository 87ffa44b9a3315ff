// Why a connection that waits cannot be accepted: for want of something that must be given back
// first. Its socket stays readable, so whoever watches it must look elsewhere for a moment.
#pragma once

#include <cerrno>

namespace tutti {

inline bool is_shortage(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

}  // namespace tutti
