// Lines to a person, from the library: one write per line, prefixed with the rank when known.
//
// The library links no logging package. `warn` prints, the first thousand times: what a peer does
// wrong again and again must not fill disks. `explain` prints when TUTTI_EXPLAIN is set. Lines go to
// standard error in one write, so ranks do not mix.
#pragma once

#include <string_view>

namespace tutti::log {

void set_rank(int rank);           // from then on lines start "tutti: rank N: "
void set_explain(bool on);
bool explains();
void warn(std::string_view line);
void explain(std::string_view line);

}  // namespace tutti::log
