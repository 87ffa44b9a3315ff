// Copying what has just been stored.
//
// A processor gives a load what an earlier store still holds back if it lies in that one store.
// Else the load waits until this store, and all before it, such as one into a line that another
// core has, have left for the cache. So what was stored field by field is copied likewise.
#pragma once

namespace tutti {

// A field, by a load of its own.
template <class T>
inline T fresh(T field) {
  asm("" : "+r"(field));  // keeps the compiler from joining loads
  return field;
}

}  // namespace tutti
