// Partitioned messages, as comm and the bindings use them: a part of the door p2p.h.
#pragma once

#include "base/result.h"
#include "types/types.h"

namespace tutti::p2p {

struct Status;

// One side of a partitioned message (MPI 5.0, 4): met by the other side once, then started as
// often as wanted. Partitions travel as soon as they are ready; each side counts its own.
class Partitioned {
 public:
  struct Shape {
    int partitions;
    types::Buffer message;  // all partitions, of equal size
  };
  // Called once a round, when all has left or arrived; gate held, must not wait.
  using Done = void (*)(void* owner, const Status& status);

  // Partitions that follow each other, or those of a list.
  struct Which {
    int first, count;
    const int* list = nullptr;
    int operator[](int i) const { return list == nullptr ? first + i : list[i]; }
  };

  virtual ~Partitioned() = default;
  // Before each start: since the last one the program may have freed the message's memory and got
  // other memory at its address. What the caller gave the device comes first. Errors: nobody can
  // tell when that has ended, and no round may start.
  virtual Result<void> find_memory() = 0;
  // Not while a round is under way.
  virtual void start(Done on_done, void* owner) = 0;
  // Sender. Errors: one was ready before or is named twice (Code::arg), or its device is as above
  // (Code::other); then none is made ready.
  virtual Result<void> ready(const Which& partitions) = 0;
  virtual bool arrived(int partition) = 0;  // receiver
  virtual void release() = 0;               // freed when nothing is under way
};

}  // namespace tutti::p2p
