// Hostfiles, in Open MPI's syntax and in Hydra's, mixed as one likes.
//
//   a slots=2 max_slots=4   # Open MPI: space or not around '='; max-slots, count, cpus as well
//   b:2                     # Hydra
//   me@c port=2222          # user and port for ssh
//   [fe80::1]:2             # addresses with colons in brackets, when slots follow
//
// Every error names file, line and word.
#include <array>

#include "base/text.h"
#include "hosts/host_word.h"
#include "hosts/hosts.h"

namespace tutti::launch::hosts {
namespace {

// Words of a line, "key = value" drawn together to "key=value".
std::vector<std::string> words_of(std::string_view line) {
  constexpr std::string_view kSpace = " \t\r\f\v";
  std::vector<std::string> words;
  bool glue = false;  // the last word ends in '=': the next belongs to it
  std::size_t at = 0;
  while ((at = line.find_first_not_of(kSpace, at)) != std::string_view::npos) {
    const std::size_t end = std::min(line.find_first_of(kSpace, at), line.size());
    const std::string_view word = line.substr(at, end - at);
    if (!words.empty() && (glue || word.front() == '='))
      words.back().append(word);
    else
      words.emplace_back(word);
    glue = word.back() == '=';
    at = end;
  }
  return words;
}

enum class Key { slots, max_slots, user, port };
struct KeyName {
  const char* name;
  Key key;
};
constexpr std::array kKeys{
    KeyName{"slots", Key::slots},         KeyName{"count", Key::slots},
    KeyName{"cpus", Key::slots},          KeyName{"max_slots", Key::max_slots},
    KeyName{"max-slots", Key::max_slots}, KeyName{"slots_max", Key::max_slots},
    KeyName{"user", Key::user},           KeyName{"username", Key::user},
    KeyName{"port", Key::port},
};

// What Hydra and MPD say of a host, and prun of the job.
struct OfTheJob {
  const char* name;
  const char* instead;
};
constexpr std::array kOfTheJob{
    OfTheJob{"binding", "--bind-to, --map-by and --rankfile say where ranks are bound"},
    OfTheJob{"ifhn",
             "--interfaces says by which interfaces data goes between hosts: eth0, or "
             "10.1.0.0/16"},
};

Result<Key> find_key(const std::string& name) {
  for (const OfTheJob& row : kOfTheJob)
    if (name == row.name)
      return fail(Code::arg, "'" + name + "' is not said in a hostfile here: " + row.instead);
  std::vector<std::string> known;
  for (const KeyName& row : kKeys) {
    if (name == row.name) return row.key;
    known.emplace_back(row.name);
  }
  const std::string near = text::nearest(name, known);
  return fail(Code::arg, "'" + name + "' is not known here; " +
                             (near.empty() ? "known are slots, max_slots, user and port"
                                           : "did you mean '" + near + "'?"));
}

Result<void> apply_word(HostSlots& host, const std::string& word) {
  const auto equals = word.find('=');
  TUTTI_TRY(key, find_key(word.substr(0, equals)));
  const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
  if (key == Key::user) {
    TUTTI_TRY(checked, parse_host_word(value + "@" + host.name));
    host.user = checked.user;
    return {};
  }
  const auto number = parse_slots(value);
  const int most = key == Key::port ? 65535 : kMostSlots;
  if (!number || *number > most)
    return fail(Code::arg, "'" + word + "' needs a whole number from 1 to " + std::to_string(most) +
                               " after '='");
  if (key == Key::slots) {
    if (host.slots_given && host.slots != *number)
      return fail(Code::arg, "'" + word + "': " + std::to_string(host.slots) +
                                 " slots are given before it; leave out one of the two");
    host.slots = *number;
    host.slots_given = true;
  } else if (key == Key::max_slots) {
    host.max_slots = *number;
  } else {
    host.port = *number;
  }
  return {};
}

Result<HostSlots> parse_line(const std::vector<std::string>& words) {
  if (words[0].find('=') != std::string::npos)
    return fail(Code::arg, "'" + words[0] + "': a line starts with the host's name");
  TUTTI_TRY(host, parse_host_word(words[0]));
  for (std::size_t i = 1; i < words.size(); ++i) TUTTI_DO(apply_word(host, words[i]));
  if (host.max_slots != 0 && !host.slots_given) {  // as with Open MPI
    host.slots = host.max_slots;
    host.slots_given = true;
  }
  if (host.max_slots != 0 && host.max_slots < host.slots)
    return fail(Code::arg, "max_slots=" + std::to_string(host.max_slots) +
                               " is less than slots=" + std::to_string(host.slots));
  return host;
}

}  // namespace

Result<Allocation> parse_hostfile(const std::string& path, const std::string& text) {
  Allocation allocation;
  allocation.given = true;
  int number = 0;
  for (const std::string& line : text::split(text, '\n')) {
    ++number;
    if (line.find('\0') != std::string::npos)
      return fail(Code::arg, path + ":" + std::to_string(number) + ": this is not a text file");
    const auto words = words_of(std::string_view(line).substr(0, line.find('#')));
    if (words.empty()) continue;
    auto host = parse_line(words);
    const std::string where = path + ":" + std::to_string(number);
    if (!host) return fail(host.error().code, where + ": " + host.error().text);
    host->source = where;
    add_host(allocation, *host);
  }
  if (allocation.hosts.empty())
    return fail(Code::arg, path + ": names no host; write one a line, such as 'a slots=2'");
  return allocation;
}

}  // namespace tutti::launch::hosts
