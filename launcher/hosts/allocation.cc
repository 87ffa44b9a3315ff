// From everything that names hosts to the one list the job may use.
//
//   nothing            this machine, a slot a core
//   hostfiles          their hosts, added up
//   -H                 these hosts
//   both               -H picks from the hostfiles' hosts, in -H's order; a count given there
//                      lowers the file's, and no count takes all of the file's slots
//
// Each program of a job (MPMD) names its own hosts. The job gets all of them: what several programs
// ask for on one host adds up, up to what a hostfile or a batch system has there.
#include <algorithm>

#include "base/text.h"
#include "hosts/host_word.h"
#include "hosts/hosts.h"

namespace tutti::launch::hosts {
namespace {

Result<Allocation> read_hostfiles(const std::vector<std::string>& paths, const ReadFile& read) {
  Allocation all;
  std::vector<std::string> sequence;
  all.given = true;
  for (const std::string& path : paths) {
    TUTTI_TRY(text, read(path));
    TUTTI_TRY(one, parse_hostfile(path, text));
    for (const HostSlots& host : one.hosts) add_host(all, host);
    sequence.insert(sequence.end(), one.sequence.begin(), one.sequence.end());
  }
  all.sequence = std::move(sequence);
  return all;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

Result<Allocation> pick(const Allocation& from, const Allocation& wanted,
                        const std::vector<std::string>& hostfiles) {
  Allocation picked;
  picked.given = true;
  picked.batch = from.batch;
  for (const HostSlots& want : wanted.hosts) {
    const auto found = std::find_if(from.hosts.begin(), from.hosts.end(),
                                    [&](const HostSlots& host) { return host.name == want.name; });
    if (found == from.hosts.end())
      return fail(Code::arg, "host " + want.name + " of -H is not in " + joined(hostfiles) +
                                 "; add it there, or give -H alone");
    HostSlots host = *found;
    if (!want.user.empty()) host.user = want.user;
    if (want.slots_given) {
      host.slots = host.slots_given ? std::min(host.slots, want.slots) : want.slots;
      host.slots_given = true;
      host.source += " and -H";
    }
    picked.hosts.push_back(host);
  }
  return picked;
}

// Open MPI's words for hosts of a list: +n2 is the third, +e any, +e:2 any two.
Result<Allocation> resolve_relative(const std::vector<std::string>& dash_hosts,
                                    const Allocation& from) {
  std::vector<std::string> words;
  std::size_t any = 0;
  for (const std::string& list : dash_hosts) {
    for (const std::string& word : text::split(list, ',')) {
      const auto colon = word.find(':');
      const std::string name = word.substr(0, colon);
      const auto number = text::parse_int(std::string_view(name).substr(name.size() < 2 ? 0 : 2));
      if (word.starts_with("+n") && number && *number >= 0 &&
          static_cast<std::size_t>(*number) < from.hosts.size()) {
        words.push_back(from.hosts[static_cast<std::size_t>(*number)].name +
                        (colon == std::string::npos ? "" : word.substr(colon)));
      } else if (word.starts_with("+e")) {
        const auto count = colon == std::string::npos
                               ? static_cast<std::int64_t>(from.hosts.size())
                               : text::parse_int(word.substr(colon + 1)).value_or(0);
        for (std::int64_t i = 0; i < count && any < from.hosts.size(); ++i)
          words.push_back(from.hosts[any++].name);
      } else {
        words.push_back(word);
      }
    }
  }
  return parse_dash_host(words);
}

const HostSlots* find(const std::vector<HostSlots>& hosts, const std::string& name) {
  const auto found = std::find_if(hosts.begin(), hosts.end(),
                                  [&](const HostSlots& host) { return host.name == name; });
  return found == hosts.end() ? nullptr : &*found;
}

bool all_within(const std::vector<std::string>& dash_hosts, const Allocation& from) {
  const auto wanted = resolve_relative(dash_hosts, from);
  return wanted && std::all_of(wanted->hosts.begin(), wanted->hosts.end(),
                               [&](const HostSlots& want) { return find(from.hosts, want.name); });
}

Allocation this_machine(const std::string& name, int cores) {
  Allocation alone;
  HostSlots host;
  host.name = name;
  host.slots = std::max(1, cores);
  host.source = "this machine";
  alone.hosts.push_back(host);
  return alone;
}

// The hosts of one program. `files`: of all programs' hostfiles, or what the batch system gave.
Result<Allocation> of_one(const HostWishes& wishes, const ReadFile& read, const Allocation& files,
                          const std::vector<std::string>& names) {
  const std::vector<std::string>& dash_hosts = wishes.dash_hosts;
  if (!wishes.hostfiles.empty()) {
    TUTTI_TRY(listed, read_hostfiles(wishes.hostfiles, read));
    if (dash_hosts.empty()) return listed;
    TUTTI_TRY(relative, resolve_relative(dash_hosts, listed));
    return pick(listed, relative, wishes.hostfiles);
  }
  if (!files.hosts.empty() && all_within(dash_hosts, files)) {
    TUTTI_TRY(relative, resolve_relative(dash_hosts, files));
    return pick(files, relative, names);
  }
  TUTTI_TRY(wanted, parse_dash_host(dash_hosts));
  for (HostSlots& host : wanted.hosts) host.slots_given = true;  // no count means one
  return wanted;
}

}  // namespace

Result<Allocation> allocate(const std::vector<HostWishes>& programs, const ReadFile& read,
                            const std::string& this_host, int this_host_cores,
                            const std::optional<Allocation>& batch) {
  std::vector<std::string> hostfiles;
  bool any = false;
  for (const HostWishes& wishes : programs) {
    any = any || !wishes.dash_hosts.empty() || !wishes.hostfiles.empty();
    for (const std::string& path : wishes.hostfiles)
      if (std::find(hostfiles.begin(), hostfiles.end(), path) == hostfiles.end())
        hostfiles.push_back(path);
  }
  if (!any) return batch ? *batch : this_machine(this_host, this_host_cores);
  TUTTI_TRY(files, read_hostfiles(hostfiles, read));
  std::vector<std::string> names = hostfiles;
  if (hostfiles.empty() && batch) {
    files = *batch;
    names = {"the batch system's hosts"};
  }
  Allocation all;
  all.given = true;
  all.batch = files.batch;
  std::vector<std::string> sequence;
  for (const HostWishes& wishes : programs) {
    std::vector<HostSlots>& own = all.of_program.emplace_back();
    if (wishes.dash_hosts.empty() && wishes.hostfiles.empty()) continue;
    TUTTI_TRY(one, of_one(wishes, read, files, names));
    for (const HostSlots& host : one.hosts) add_host(all, host);
    sequence.insert(sequence.end(), one.sequence.begin(), one.sequence.end());
    if (one.batch != files.batch)
      all.batch = Batch::none;  // not all of them are the batch system's
    own = std::move(one.hosts);
  }
  all.sequence = std::move(sequence);
  for (HostSlots& host : all.hosts)
    if (const HostSlots* most = find(files.hosts, host.name)) {
      host.slots = std::min(host.slots, most->slots);
      host.max_slots = most->max_slots;
    }
  return all;
}

Result<void> keep_wanted(Allocation& allocation, const HostRules& rules) {
  for (const std::string& name : rules.excluded) {
    const auto gone =
        std::erase_if(allocation.hosts, [&](const HostSlots& host) { return host.name == name; });
    if (gone == 0) return fail(Code::arg, "--exclude " + name + ": it is not among the hosts");
  }
  if (rules.not_this)
    std::erase_if(allocation.hosts,
                  [&](const HostSlots& host) { return !rules.not_this(host.name); });
  if (rules.most_hosts > 0 && allocation.hosts.size() > static_cast<std::size_t>(rules.most_hosts))
    allocation.hosts.resize(static_cast<std::size_t>(rules.most_hosts));
  std::erase_if(allocation.sequence, [&](const std::string& name) {
    return std::none_of(allocation.hosts.begin(), allocation.hosts.end(),
                        [&](const HostSlots& host) { return host.name == name; });
  });
  if (allocation.hosts.empty())
    return fail(Code::arg, "no host is left to run on; name others beside this machine");
  return {};
}

}  // namespace tutti::launch::hosts
