// From everything that names hosts to the one list the job may use.
//
//   nothing            this machine, a slot a core
//   hostfiles          their hosts, added up
//   -H                 these hosts
//   both               -H picks from the hostfiles' hosts, in -H's order; a count given there
//                      lowers the file's, and no count takes all of the file's slots
#include <algorithm>

#include "hosts/host_word.h"
#include "hosts/hosts.h"

namespace tutti::launch {
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

}  // namespace

Result<Allocation> allocate(const std::vector<std::string>& dash_hosts,
                            const std::vector<std::string>& hostfiles, const ReadFile& read,
                            const std::string& this_host, int this_host_cores) {
  if (dash_hosts.empty() && hostfiles.empty()) {
    Allocation alone;
    HostSlots host;
    host.name = this_host;
    host.slots = std::max(1, this_host_cores);
    host.source = "this machine";
    alone.hosts.push_back(host);
    return alone;
  }
  TUTTI_TRY(wanted, parse_dash_host(dash_hosts));
  if (hostfiles.empty()) {
    for (HostSlots& host : wanted.hosts) host.slots_given = true;  // no count means one
    return wanted;
  }
  TUTTI_TRY(listed, read_hostfiles(hostfiles, read));
  if (dash_hosts.empty()) return listed;
  return pick(listed, wanted, hostfiles);
}

}  // namespace tutti::launch
