// -H a:2,b:2: hosts on the command line. Without a count one slot; a name repeated adds up.
#include "base/text.h"
#include "hosts/host_word.h"
#include "hosts/hosts.h"

namespace tutti::launch::hosts {

Result<Allocation> parse_dash_host(const std::vector<std::string>& words) {
  Allocation allocation;
  allocation.given = true;
  for (const std::string& list : words) {
    TUTTI_TRY(names, expand_ranges(list));
    for (const std::string& word : names) {
      auto host = parse_host_word(text::trim(word));
      if (!host) return fail(host.error().code, "-H " + list + ": " + host.error().text);
      host->source = "-H";
      add_host(allocation, *host);
    }
  }
  return allocation;
}

}  // namespace tutti::launch::hosts
