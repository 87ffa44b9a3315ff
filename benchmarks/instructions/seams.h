// Where the ruler reaches into the library that it counts: three calls between its rooms are
// redirected by the linker (meson.build, --wrap), all else is the library's own objects.
#pragma once

#include "wireup/wireup.h"

namespace tutti::ruler {

// What the program gives to each copy of the library (rank.h), before MPI_Init.
struct Seams {
  wireup::Wireup* wireup;  // who this rank is; the library takes it
  void (*turn)();          // nothing to do until another rank has run: its turn
};

}  // namespace tutti::ruler

extern "C" [[gnu::visibility("default")]] void ruler_attach(const tutti::ruler::Seams& seams);
