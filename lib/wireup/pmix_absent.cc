// In place of pmix_client.cc where PMIx's headers were not there at build time.
#include "wireup/board.h"

namespace tutti::wireup {

Result<BoardPtr> open_pmix_board(const Lookup&) {
  return fail(Code::unsupported,
              "this program was started by a launcher with PMIx, which this build of Tutti cannot "
              "join; start the program with prun, or build Tutti where PMIx's headers are "
              "(Debian: libpmix-dev)");
}

}  // namespace tutti::wireup
