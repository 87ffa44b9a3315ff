// What hosts say before the job runs, often all the same: one line for all that say it. Pure.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace tutti::launch::job {

// "a, b", "a, b and 97 more"
std::string listed(const std::vector<std::string>& names);

class AlikeLines {
 public:
  void add(int host, const std::string& text);
  // "host a: text", "hosts a, b: text", in the order in which each was said first. `name_of`: of
  // a host.
  std::vector<std::string> take(const std::function<std::string(int host)>& name_of);

 private:
  struct Line {
    std::string text;
    std::set<int> hosts;
  };
  std::vector<Line> lines_;
};

}  // namespace tutti::launch::job
