// Lines to a person, from the library: one write per line, prefixed with the rank when known.
//
// The library links no logging package. `warn` prints, the first thousand times: what a peer does
// wrong again and again must not fill disks. `explain` prints when TUTTI_EXPLAIN is set. Lines go to
// standard error in one write, so ranks do not mix.
#pragma once

#include <string>
#include <string_view>

namespace tutti::log {

void set_rank(int rank);           // from then on lines start "tutti: rank N: "
void set_explain(bool on);
bool explains();
// Who names the call of MPI's that this process is in, or says null. Work under way may be another
// call's; a person finds its place by this one.
void set_caller(const char* (*caller)());
std::string in_call();  // ", in MPI_Send", or nothing
// While it lives, this thread works for that call instead, which returned long ago.
class ForCall {
 public:
  explicit ForCall(const char* name);
  ~ForCall();
  ForCall(const ForCall&) = delete;
  ForCall& operator=(const ForCall&) = delete;

 private:
  const char* const before_;
};
void warn(std::string_view line);
void explain(std::string_view line);

}  // namespace tutti::log
