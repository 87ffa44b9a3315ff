// Hosts that a batch system has given: Slurm, PBS, Grid Engine, LSF. Text in, Allocation out.
//
//   Slurm        slurm.cc
//   PBS          $PBS_NODEFILE     a name a line, once for each slot
//   Grid Engine  $PE_HOSTFILE      name slots queue processors
//   LSF          $LSB_DJOB_HOSTFILE like PBS, or LSB_MCPU_HOSTS="a 4 b 2"
#include "hosts/batch.h"

#include "base/text.h"
#include "hosts/host_word.h"

namespace tutti::launch::hosts {
namespace {

constexpr int kMostBrackets = 8;  // in one name

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : text + " ") {
    if (c != ' ' && c != '\t' && c != '\n' && c != '\r') {
      word += c;
    } else if (!word.empty()) {
      words.push_back(word);
      word.clear();
    }
  }
  return words;
}

Result<Allocation> from_names(const std::string& text, const std::string& source) {
  Allocation allocation;
  allocation.given = true;
  allocation.batch = Batch::other;
  for (const std::string& name : words_of(text)) TUTTI_DO(add(allocation, name, 1, source));
  if (allocation.hosts.empty()) return fail(Code::arg, source + " names no host");
  return allocation;
}

Result<Allocation> from_grid_engine(const std::string& text) {
  Allocation allocation;
  allocation.given = true;
  allocation.batch = Batch::other;
  for (const std::string& line : text::split(text, '\n')) {
    const auto words = words_of(line);
    if (words.empty()) continue;
    const auto slots = words.size() > 1 ? parse_slots(words[1]) : std::optional<int>(1);
    if (!slots) return fail(Code::arg, "PE_HOSTFILE: '" + line + "' gives no slots");
    TUTTI_DO(add(allocation, words[0], *slots, "PE_HOSTFILE"));
  }
  if (allocation.hosts.empty()) return fail(Code::arg, "PE_HOSTFILE names no host");
  return allocation;
}

Result<Allocation> from_pairs(const std::string& text, const std::string& source) {
  Allocation allocation;
  allocation.given = true;
  allocation.batch = Batch::other;
  const auto words = words_of(text);
  for (std::size_t i = 0; i + 1 < words.size(); i += 2) {
    const auto slots = parse_slots(words[i + 1]);
    if (!slots) return fail(Code::arg, source + ": '" + words[i + 1] + "' is no number of slots");
    TUTTI_DO(add(allocation, words[i], *slots, source));
  }
  return allocation;
}

// What follows a bracket may be another one; "[fe80::1]" alone is an address, not a range.
Result<std::vector<std::string>> expand_one(const std::string& part, int brackets) {
  const auto open = part.find('[');
  const auto close = part.find(']', open);
  if ((open == 0 && brackets == 0) || open == std::string::npos || close == std::string::npos)
    return std::vector<std::string>{part};
  const auto too_many = [&part] {
    return fail(Code::arg, "'" + part + "': more than " + std::to_string(kMostHosts) + " hosts");
  };
  const auto senseless = [&part] { return fail(Code::arg, "'" + part + "': write name[1-4,7]"); };
  if (brackets == kMostBrackets) return senseless();
  TUTTI_TRY(rests, expand_one(part.substr(close + 1), brackets + 1));
  std::vector<std::string> names;
  for (const std::string& range : text::split(part.substr(open + 1, close - open - 1), ',')) {
    const auto dash = range.find('-');
    const std::string first = range.substr(0, dash);
    const auto from = text::parse_int(first);
    const auto to = dash == std::string::npos ? from : text::parse_int(range.substr(dash + 1));
    if (!from || !to || *from < 0 || *to < *from) return senseless();
    for (auto number = *from; number <= *to; ++number) {
      std::string digits = std::to_string(number);
      if (digits.size() < first.size()) digits.insert(0, first.size() - digits.size(), '0');
      if (names.size() + rests.size() > kMostHosts) return too_many();
      for (const std::string& rest : rests) names.push_back(part.substr(0, open) + digits + rest);
    }
  }
  return names;
}

}  // namespace

std::vector<std::string> cut_list(const std::string& text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : text) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c == ',' && depth == 0)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

Result<void> add(Allocation& allocation, const std::string& name, int slots,
                 const std::string& source) {
  TUTTI_TRY(host, parse_host_word(name));
  host.slots = slots;
  host.slots_given = true;
  host.source = source;
  add_host(allocation, host);
  return {};
}

Result<std::vector<std::string>> expand_ranges(const std::string& text) {
  std::vector<std::string> names;
  for (const std::string& part : cut_list(text)) {
    TUTTI_TRY(some, expand_one(part, 0));
    if (names.size() + some.size() > kMostHosts)
      return fail(Code::arg, "'" + part + "': more than " + std::to_string(kMostHosts) + " hosts");
    names.insert(names.end(), some.begin(), some.end());
  }
  return names;
}

Result<std::optional<Allocation>> batch_allocation(const ReadVariable& variable,
                                                   const ReadFile& read) {
  const auto given = [&](const char* name) { return variable(name).value_or(""); };
  const auto whole = [](Result<Allocation> found) -> Result<std::optional<Allocation>> {
    if (!found) return tl::unexpected<Error>(found.error());
    return std::optional<Allocation>(std::move(*found));
  };
  if (is_slurm_job(variable)) return whole(from_slurm(variable));
  if (const std::string file = given("PBS_NODEFILE"); !file.empty()) {
    TUTTI_TRY(text, read(file));
    return whole(from_names(text, "PBS_NODEFILE"));
  }
  if (const std::string file = given("PE_HOSTFILE"); !file.empty()) {
    TUTTI_TRY(text, read(file));
    return whole(from_grid_engine(text));
  }
  if (const std::string file = given("LSB_DJOB_HOSTFILE"); !file.empty()) {
    TUTTI_TRY(text, read(file));
    return whole(from_names(text, "LSB_DJOB_HOSTFILE"));
  }
  if (const std::string pairs = given("LSB_MCPU_HOSTS"); !pairs.empty())
    return whole(from_pairs(pairs, "LSB_MCPU_HOSTS"));
  return std::optional<Allocation>();
}

}  // namespace tutti::launch::hosts
