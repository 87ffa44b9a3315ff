// From everything that names hosts to the one list the job may use.
//
//   nothing            this machine, a slot a core
//   hostfiles          their hosts, added up
//   -H                 these hosts
//   both               -H picks from the hostfiles' hosts, in -H's order; a count given there
//                      lowers the file's, and no count takes all of the file's slots
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

bool all_within(const std::vector<std::string>& dash_hosts, const Allocation& batch) {
  const auto wanted = resolve_relative(dash_hosts, batch);
  return wanted && !dash_hosts.empty() &&
         std::all_of(wanted->hosts.begin(), wanted->hosts.end(), [&](const HostSlots& want) {
           return std::any_of(batch.hosts.begin(), batch.hosts.end(),
                              [&](const HostSlots& host) { return host.name == want.name; });
         });
}

}  // namespace

Result<Allocation> allocate(const std::vector<std::string>& dash_hosts,
                            const std::vector<std::string>& hostfiles, const ReadFile& read,
                            const std::string& this_host, int this_host_cores,
                            const std::optional<Allocation>& batch) {
  if (dash_hosts.empty() && hostfiles.empty() && batch) return *batch;
  if (dash_hosts.empty() && hostfiles.empty()) {
    Allocation alone;
    HostSlots host;
    host.name = this_host;
    host.slots = std::max(1, this_host_cores);
    host.source = "this machine";
    alone.hosts.push_back(host);
    return alone;
  }
  if (hostfiles.empty() && batch && all_within(dash_hosts, *batch)) {
    TUTTI_TRY(relative, resolve_relative(dash_hosts, *batch));
    return pick(*batch, relative, {"the batch system's hosts"});
  }
  if (!hostfiles.empty() && !dash_hosts.empty()) {
    TUTTI_TRY(listed, read_hostfiles(hostfiles, read));
    TUTTI_TRY(relative, resolve_relative(dash_hosts, listed));
    return pick(listed, relative, hostfiles);
  }
  TUTTI_TRY(wanted, parse_dash_host(dash_hosts));
  if (hostfiles.empty()) {
    for (HostSlots& host : wanted.hosts) host.slots_given = true;  // no count means one
    return wanted;
  }
  return read_hostfiles(hostfiles, read);
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
