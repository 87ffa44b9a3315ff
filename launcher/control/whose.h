// Which user has the other end of a connection on this machine: TCP itself says nothing of it.
#pragma once

namespace tutti::launch::control {

// ours: this user's or root's; gone: nobody's any more, its end has closed it; far: another
// machine's.
enum class Whose { ours, others, gone, far };
Whose whose_end(int fd);

}  // namespace tutti::launch::control
