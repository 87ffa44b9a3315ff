#include "job/alike.h"

#include <algorithm>
#include <utility>

#include "base/numbers.h"

namespace tutti::launch::job {

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kEnough = 60;  // letters
  std::string list;
  std::size_t shown = 0;
  for (; shown < names.size() && list.size() <= kEnough; ++shown)
    list += (shown == 0 ? "" : ", ") + names[shown];
  const std::size_t more = names.size() - shown;
  return more == 0 ? list : list + " and " + std::to_string(more) + " more";
}

void AlikeLines::add(int host, const std::string& text) {
  auto line = std::find_if(lines_.begin(), lines_.end(),
                           [&text](const Line& one) { return one.text == text; });
  if (line == lines_.end()) line = lines_.insert(line, Line{text, {}});
  line->hosts.insert(host);
}

std::vector<std::string> AlikeLines::take(const std::function<std::string(int)>& name_of) {
  std::vector<std::string> lines;
  for (const Line& one : std::exchange(lines_, {})) {
    std::vector<std::string> names;
    for (const int host : one.hosts) names.push_back(name_of(host));
    lines.push_back(text::plural(names.size(), "host") + " " + listed(names) + ": " + one.text);
  }
  return lines;
}

}  // namespace tutti::launch::job
