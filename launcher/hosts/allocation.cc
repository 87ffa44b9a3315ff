// From everything that names hosts to the one list the job may use.
//
//   nothing            this machine, a slot a core
//   hostfiles          their hosts, added up
//   -H                 these hosts
//   both               -H picks from the hostfiles' hosts, in -H's order; a count given there
//                      lowers the file's, and no count takes all of the file's slots
//   in a batch job     both pick from its hosts in the same way, and others are refused
//
// Each program of a job (MPMD) names its own hosts. The job gets all of them: what several programs
// ask for on one host adds up, up to what a hostfile or a batch system has there.
#include <algorithm>

#include "base/text.h"
#include "hosts/host_word.h"
#include "hosts/hosts.h"

namespace tutti::launch::hosts {
namespace {

// What lists of hosts are read with.
struct Around {
  const ReadFile& read;
  const Allocation* batch;       // the job that bounds them; null: there is none
  const std::string& this_host;  // as the batch system calls it, in a batch job
};

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

const HostSlots* find(const std::vector<HostSlots>& hosts, const std::string& name) {
  const auto found = std::find_if(hosts.begin(), hosts.end(),
                                  [&](const HostSlots& host) { return host.name == name; });
  return found == hosts.end() ? nullptr : &*found;
}

std::string without_domain(const std::string& name) {
  const bool is_address = name.find_first_not_of("0123456789.") == std::string::npos;
  return is_address ? name : name.substr(0, name.find('.'));
}

// The batch system's name for a host that the user calls localhost, or with or without its domain.
std::string own_name(const std::string& name, const Around& around) {
  if (around.batch == nullptr || find(around.batch->hosts, name) != nullptr) return name;
  const bool is_here = name == "localhost" || name == "127.0.0.1" || name == "::1";
  const std::string wanted = without_domain(is_here ? around.this_host : name);
  std::string own;
  for (const HostSlots& host : around.batch->hosts) {
    if (without_domain(host.name) != wanted) continue;
    if (!own.empty()) return name;  // two of this name, in two domains
    own = host.name;
  }
  return own.empty() ? name : own;
}

Allocation with_own_names(const Allocation& listed, const Around& around) {
  Allocation all;
  all.given = true;
  for (HostSlots host : listed.hosts) {
    host.name = own_name(host.name, around);
    add_host(all, host);
  }
  all.sequence.clear();
  for (const std::string& name : listed.sequence) all.sequence.push_back(own_name(name, around));
  return all;
}

Result<Allocation> read_hostfiles(const std::vector<std::string>& paths, const Around& around) {
  Allocation all;
  std::vector<std::string> sequence;
  all.given = true;
  for (const std::string& path : paths) {
    TUTTI_TRY(text, around.read(path));
    TUTTI_TRY(one, parse_hostfile(path, text));
    one = with_own_names(one, around);
    for (const HostSlots& host : one.hosts) add_host(all, host);
    sequence.insert(sequence.end(), one.sequence.begin(), one.sequence.end());
  }
  all.sequence = std::move(sequence);
  return all;
}

Result<Allocation> pick(const Allocation& from, const Allocation& wanted,
                        const std::vector<std::string>& hostfiles) {
  Allocation picked;
  picked.given = true;
  picked.batch = from.batch;
  for (const HostSlots& want : wanted.hosts) {
    const HostSlots* found = find(from.hosts, want.name);
    if (found == nullptr)
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

// Where a wish stands: "-H", "hostfile:3".
tl::unexpected<Error> outside(const HostSlots& want, const Allocation& batch) {
  constexpr std::size_t kMostNames = 8;
  std::string names;
  for (std::size_t i = 0; i < std::min(batch.hosts.size(), kMostNames); ++i)
    names += (i == 0 ? "" : ", ") + batch.hosts[i].name;
  if (batch.hosts.size() > kMostNames) names += ", ...";
  return fail(Code::arg, "host " + want.name + " of " + want.source + " is not in " +
                             batch.hosts.at(0).source + ", which has " + names +
                             "; name hosts of the job (--launcher ssh goes beyond it)");
}

// By a number, or by naming it several times.
bool is_counted(const HostSlots& host) {
  return host.slots_given || host.slots > 1;
}

// The hosts of a batch job that are wanted, with its slots or fewer; nothing outside of it.
Result<Allocation> pick_from_job(const Allocation& batch, Allocation wanted) {
  const auto is_in_job = [&](const HostSlots& host) { return find(batch.hosts, host.name); };
  if (batch.is_open && !std::all_of(wanted.hosts.begin(), wanted.hosts.end(), is_in_job)) {
    for (HostSlots& host : wanted.hosts) host.slots_given = true;  // no count means one
    return wanted;
  }
  for (HostSlots& want : wanted.hosts) {
    const HostSlots* has = find(batch.hosts, want.name);
    if (has == nullptr) return outside(want, batch);
    const std::string listed = want.source;
    const int asked = want.slots;
    const bool counted = is_counted(want);
    want.slots = counted ? std::min(asked, has->slots) : has->slots;
    if (counted && asked > has->slots)
      wanted.notes.push_back("host " + want.name + ": " + std::to_string(asked) + " slots by " +
                             listed + ", but " + has->source + " has " +
                             std::to_string(has->slots) + " there; --oversubscribe takes more");
    want.source = has->source + (counted ? " and " + listed : "");
    want.slots_given = true;
  }
  wanted.batch = batch.batch;
  return wanted;
}

// Open MPI's words for hosts of a list: +n2 is the third, +e any, +e:2 any two.
Result<Allocation> resolve_relative(const std::vector<std::string>& dash_hosts,
                                    const Allocation& from) {
  std::vector<std::string> lists;  // as they were given, but for these words
  std::size_t any = 0;
  for (const std::string& list : dash_hosts) {
    std::string kept;
    const auto keep = [&kept](const std::string& word) {
      kept += (kept.empty() ? "" : ",") + word;
    };
    for (const std::string& part : cut_list(list)) {
      const std::string word(text::trim(part));
      const auto colon = word.find(':');
      const std::string name = word.substr(0, colon);
      const auto number = text::parse_int(std::string_view(name).substr(name.size() < 2 ? 0 : 2));
      if (word.starts_with("+n") && number && *number >= 0 &&
          static_cast<std::size_t>(*number) < from.hosts.size()) {
        keep(from.hosts[static_cast<std::size_t>(*number)].name +
             (colon == std::string::npos ? "" : word.substr(colon)));
      } else if (word.starts_with("+e")) {
        const auto count = colon == std::string::npos
                               ? static_cast<std::int64_t>(from.hosts.size())
                               : text::parse_int(word.substr(colon + 1)).value_or(0);
        for (std::int64_t i = 0; i < count && any < from.hosts.size(); ++i)
          keep(from.hosts[any++].name);
      } else if (word.empty()) {
        return fail(Code::arg, "-H " + list + ": a host's name is missing at a comma");
      } else {
        keep(word);
      }
    }
    if (!kept.empty()) lists.push_back(kept);
  }
  return parse_dash_host(lists);
}

Result<Allocation> read_dash_hosts(const std::vector<std::string>& dash_hosts,
                                   const Allocation& from, const Around& around) {
  TUTTI_TRY(wanted, resolve_relative(dash_hosts, from));
  return with_own_names(wanted, around);
}

bool all_within(const Allocation& wanted, const Allocation& from) {
  return std::all_of(wanted.hosts.begin(), wanted.hosts.end(),
                     [&](const HostSlots& want) { return find(from.hosts, want.name) != nullptr; });
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

// The hosts of one program. `files`: of all programs' hostfiles, which `names` lists.
Result<Allocation> of_one(const HostWishes& wishes, const Allocation& files,
                          const std::vector<std::string>& names, const Around& around) {
  const std::vector<std::string>& dash_hosts = wishes.dash_hosts;
  if (!wishes.hostfiles.empty()) {
    TUTTI_TRY(listed, read_hostfiles(wishes.hostfiles, around));
    if (dash_hosts.empty()) return listed;
    TUTTI_TRY(wanted, read_dash_hosts(dash_hosts, listed, around));
    return pick(listed, wanted, wishes.hostfiles);
  }
  const bool from_job = files.hosts.empty() && around.batch != nullptr;
  TUTTI_TRY(wanted, read_dash_hosts(dash_hosts, from_job ? *around.batch : files, around));
  if (from_job) return wanted;
  if (!files.hosts.empty() && all_within(wanted, files)) return pick(files, wanted, names);
  for (HostSlots& host : wanted.hosts) host.slots_given = wishes.bare_means_one || is_counted(host);
  return wanted;
}

// No host of the job has more slots than all programs may take there together.
void keep_within(Allocation& all, const Allocation& most) {
  for (HostSlots& host : all.hosts)
    if (const HostSlots* limit = find(most.hosts, host.name)) {
      host.slots = std::min(host.slots, limit->slots);
      if (limit->max_slots > 0) host.max_slots = limit->max_slots;
    }
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
  const Around around{read, batch ? &*batch : nullptr,
                      batch && !batch->here.empty() ? batch->here : this_host};
  TUTTI_TRY(files, read_hostfiles(hostfiles, around));
  Allocation all;
  all.given = true;
  std::vector<std::string> sequence;
  for (const HostWishes& wishes : programs) {
    std::vector<HostSlots>& own = all.of_program.emplace_back();
    if (wishes.dash_hosts.empty() && wishes.hostfiles.empty()) continue;
    TUTTI_TRY(one, of_one(wishes, files, hostfiles, around));
    if (batch) {
      TUTTI_TRY(within, pick_from_job(*batch, std::move(one)));
      one = std::move(within);
      all.batch = one.batch;
    }
    for (const HostSlots& host : one.hosts) add_host(all, host);
    sequence.insert(sequence.end(), one.sequence.begin(), one.sequence.end());
    all.notes.insert(all.notes.end(), one.notes.begin(), one.notes.end());
    own = std::move(one.hosts);
  }
  all.sequence = std::move(sequence);
  if (batch)  // a bare name takes what the job has there
    std::erase_if(files.hosts, [](const HostSlots& host) { return !is_counted(host); });
  keep_within(all, files);
  if (batch) keep_within(all, *batch);
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
  if (allocation.hosts.size() < static_cast<std::size_t>(rules.least_hosts))
    return fail(Code::arg, std::to_string(rules.least_hosts) +
                               " hosts are asked for (--nodes), but " +
                               std::to_string(allocation.hosts.size()) +
                               (allocation.hosts.size() == 1 ? " is" : " are") +
                               " there; name more by -H or --hostfile");
  if (allocation.hosts.empty())
    return fail(Code::arg, "no host is left to run on; name others beside this machine");
  return {};
}

}  // namespace tutti::launch::hosts
