// Numbers of predefined handles, and behind them those of slots.
#include "mpi/handles.h"

namespace tutti::mpi {
namespace {

constexpr int kBeforeSlots = 0x3ff;  // the last one of a predefined handle; slots count from 1

}  // namespace

int number_of(Handle handle) {
  if (handle <= kBeforeSlots) return static_cast<int>(handle);
  const int slot = slots::number_of(handle);
  return slot == 0 ? 0 : kBeforeSlots + slot;
}

Handle handle_of_number(int number) {
  if (number <= kBeforeSlots) return number < 0 ? 0 : static_cast<Handle>(number);
  return slots::handle_at(number - kBeforeSlots);
}

}  // namespace tutti::mpi
