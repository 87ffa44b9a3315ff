// Numbers that nobody can guess.
#include "base/random_bytes.h"

#include <sys/random.h>

namespace tutti {

bool random_bytes(void* to, std::size_t count) {
  return ::getrandom(to, count, 0) == static_cast<ssize_t>(count);
}

}  // namespace tutti
