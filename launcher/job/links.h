// --report-links: what the ranks said of their links, as one matrix and the reasons for each link.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace tutti::launch::job {

// Names of links as ranks say them. A library has few, and short ones: others are left out, and the
// ranks that said them are told of.
class LinkNames {
 public:
  bool takes(int rank, const std::string& name);
  std::string complaint() const;  // "rank 3 named ...\n"; empty: all were good

 private:
  std::map<int, std::set<std::string>> names_;  // by rank
  std::set<int> refused_;
};

// said[rank]: lines "FIRST-LAST TAB link TAB why" of peers and "- TAB not used TAB why" (p2p.h).
// hosts[rank]: its host. Up to 32 ranks: a row a rank; above that one line per pair of hosts. Then
// each link's reasons, once each, how many links nobody told of, and what was left out.
std::string link_matrix(const std::map<int, std::string>& said,
                        const std::vector<std::string>& hosts);

}  // namespace tutti::launch::job
