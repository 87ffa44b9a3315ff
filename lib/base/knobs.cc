// The table of knobs, and reading it.
#include "base/knobs.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/check.h"
#include "base/collectives.h"
#include "base/interface_list.h"
#include "base/text.h"

namespace tutti {
namespace {

// A row is added by the room that owns it; a constant with a derivation beats a knob.
constexpr KnobRow kPlain[] = {
    {"TUTTI_EXPLAIN", "0/1", "0", "base", "print which link and algorithm was taken, and why"},
    {"TUTTI_GPU_SUPPORT", "name", "auto", "device",
     "buffers in GPU memory: auto (where NVIDIA's driver is there), yes (libcuda may be loaded "
     "later), no; the same for all ranks of a host"},
    {"TUTTI_LINK", "name", "auto", "transport",
     "force links between hosts: auto, tcp or ucx; inside a host: auto, shm, tcp, ucx; "
     "cuda_ipc beside one of these; self, a rank with itself, is there whatever is named"},
    {"TUTTI_EAGER_BYTES", "bytes", "0", "p2p",
     "largest message sent without asking first; 0: derived from the link"},
    {"TUTTI_UNEXPECTED_BYTES", "bytes", "4M", "p2p",
     "unmatched eager bytes one peer may leave here before its sends wait; unless set, they wait "
     "only when kept messages fill the rank's share of an eighth of the memory there is"},
    {"TUTTI_FLOOD_MESSAGES", "messages", "100000", "p2p",
     "a rank that leaves so many messages, or 4 KiB times as many bytes, unreceived is reported; "
     "0: never"},
    {"TUTTI_SINGLE_COPY", "name", "auto", "transport",
     "process_vm_readv for long messages and blocks inside a host: auto (each pair and each "
     "communicator measures whether it is faster; with more ranks than cores messages always use "
     "it), on, off; on: GPU memory of any size is read by CUDA IPC, else that is measured, too"},
    {"TUTTI_RANKS_PER_CACHE", "ranks", "0", "comm",
     "short collectives inside a host go by levels of caches where that is faster: so many ranks "
     "in turn share a cache; 1: no levels; 0: as the ranks are bound"},
    {"TUTTI_POLL_US", "us", "-1", "transport",
     "how long a wait polls before it yields; -1: derived from ranks and cores"},
    {"TUTTI_SHARED_CORES", "name", "auto", "transport",
     "beside programs of others on the same cores a rank that waits sleeps at once, with a time "
     "slice of 0.1 ms (Linux 6.12 and later): auto (where they make wake-ups late), on, off"},
    {"TUTTI_PROGRESS_US", "us", "-1", "world",
     "a progress thread looks this often; 0: there is none; -1: it works for long nonblocking "
     "collectives only, where the job leaves it a core beside each rank"},
    {"TUTTI_TCP_FAMILY", "name", "auto", "transport", "auto, ipv4 or ipv6"},
    {"TUTTI_TCP_CONGESTION", "text", "auto", "transport",
     "congestion control of links between hosts: auto (cubic or reno where the host's default is "
     "bbr and a round trip takes less than 1 ms), system (the host's default), or a name that the "
     "host allows"},
    {"TUTTI_TCP_RAILS", "count", "0", "transport",
     "further connections to each peer on another host that share the bytes of long messages, over "
     "different networks where there are several: for networks that give one connection a part of "
     "their rate only; at most 16, a descriptor each, the same number on all ranks"},
    {"TUTTI_INTERFACES", "text", "", "transport",
     "interfaces between hosts: names, beginnings of names, subnets (eth0,ib,10.1.0.0/16), or ^ "
     "and those not to use; empty: all (prun --interfaces, Open MPI's btl_tcp_if_include, ...)"},
    {"TUTTI_LINK_SECURITY", "name", "none", "transport",
     "data between hosts: none, integrity (changes are noticed) or encrypted; the same for all"},
    {"TUTTI_ALGORITHMS", "text", "", "select", "forced algorithms: allreduce=ring,bcast=binomial"},
    {"TUTTI_COSTS", "text", "", "select",
     "what links and folds cost, by which algorithms are chosen: tcp=15:1.2:4,fold=20 (latency in "
     "us, GB/s, and GB/s at most on any wire; also rdma, shm, self, gpu, ipc, nccl and gpu_fold); "
     "prun's (or --tune's), or under another launcher rank 0's, counts for the whole job"},
    {"TUTTI_SEGMENT_BYTES", "bytes", "0", "select",
     "pipeline segment of long collectives; 0: from the model"},
    {"TUTTI_REPORT_LINKS", "0/1", "0", "world",
     "tell the launcher which link joins this rank with every other (prun --report-links)"},
    {"TUTTI_RECORD", "name", "off", "bindings",
     "tell the launcher what calls took (calls: --stats) and when each was (events: --trace)"},
    {"TUTTI_MISMATCH", "name", "end", "comm",
     "when ranks call different collectives: end the job, warn, off (nothing is compared); every: "
     "end, and compare every call as it begins instead of those of ranks that wait (slow: for "
     "tests)"},
    {"TUTTI_BACKTRACE", "0/1", "1", "bindings",
     "a rank that dies by a signal writes its call and its stack to standard error; an error that "
     "ends the job says where in the program it was called"},
    {"TUTTI_CHECKS", "0/1", "1", "bindings", "check arguments of every call"},
    {"TUTTI_MEMORY_ALLOC_KINDS", "text", "", "bindings",
     "kinds of memory that the program asks for, such as system,mpi,cuda:device (prun "
     "--memory-alloc-kinds): MPI_INFO_ENV repeats them; sessions and communicators say which are "
     "supported"},
};

// And one a knob that forces algorithms; several collectives may obey the same.
std::vector<KnobRow> all_rows() {
  std::vector<KnobRow> rows(std::begin(kPlain), std::end(kPlain));
  for (const CollectiveRow& collective : kCollectiveRows)
    if (std::ranges::none_of(
            rows, [&](const KnobRow& row) { return std::strcmp(row.name, collective.knob) == 0; }))
      rows.push_back(
          {collective.knob, "name", "", "select", "forced algorithm (docs/algorithms.md)"});
  return rows;
}

const std::vector<KnobRow> kRows = all_rows();

// What a knob of unit "name" may say, where that is known here.
std::vector<std::string> words_of(std::string_view knob) {
  if (knob == "TUTTI_LINK") return {"auto", "self", "shm", "cuda_ipc", "ucx", "tcp"};
  if (knob == "TUTTI_SINGLE_COPY" || knob == "TUTTI_SHARED_CORES") return {"auto", "on", "off"};
  if (knob == "TUTTI_GPU_SUPPORT") return {"auto", "yes", "no"};
  if (knob == "TUTTI_TCP_FAMILY") return {"auto", "ipv4", "ipv6"};
  if (knob == "TUTTI_LINK_SECURITY") return {"none", "integrity", "encrypted"};
  if (knob == "TUTTI_RECORD") return {"off", "calls", "events"};
  if (knob == "TUTTI_MISMATCH") return {"end", "warn", "off", "every"};
  return {};
}

Result<void> check_words(const KnobRow& row, const std::string& value) {
  const auto known = words_of(row.name);
  if (known.empty()) return {};
  // Links may be several, parted by commas. Of anything else there is one.
  const bool is_list = std::strcmp(row.name, "TUTTI_LINK") == 0;
  for (const std::string& part : is_list ? text::split(value, ',') : std::vector{value}) {
    const auto word = is_list ? text::trim(part) : std::string_view(part);
    const bool is_nothing = is_list && word.empty();
    if (is_nothing || std::find(known.begin(), known.end(), word) != known.end()) continue;
    std::string all;
    for (const std::string& each : known) all += (all.empty() ? "" : ", ") + each;
    return fail(Code::arg, std::string(row.name) + " names '" + std::string(word) +
                               "', which is none of " + all + "; unset it or take one of these");
  }
  return {};
}

std::size_t index_of(std::string_view name) {
  for (std::size_t i = 0; i < kRows.size(); ++i)
    if (name == kRows[i].name) return i;
  check_failed(__FILE__, __LINE__, "knob has a row", std::string(name));
}

// What is found out where nothing is given has the default -1.
std::int64_t least_of(const KnobRow& row) { return std::strcmp(row.fallback, "-1") == 0 ? -1 : 0; }

// Of whatever unit: so many that a thousand times as much is still a number.
constexpr std::int64_t kMost = std::int64_t{1} << 50;

std::int64_t most_of(const KnobRow& row) {
  if (std::strcmp(row.unit, "0/1") == 0) return 1;
  if (std::strcmp(row.unit, "ranks") == 0) return std::numeric_limits<int>::max();
  return std::strcmp(row.name, "TUTTI_TCP_RAILS") == 0 ? kMostTcpRails : kMost;
}

std::string form_of(const KnobRow& row) {
  if (std::strcmp(row.unit, "bytes") == 0)
    return "a number of bytes such as 65536, 64k or 1M, at most " +
           std::to_string(kMost >> 30) + "G";
  if (std::strcmp(row.unit, "0/1") == 0) return "0 or 1";
  return "a whole number from " + std::to_string(least_of(row)) + " to " +
         std::to_string(most_of(row));
}

}  // namespace

const std::vector<KnobRow>& Knobs::rows() {
  return kRows;
}

Result<Knobs> Knobs::read(const Lookup& lookup) {
  Knobs knobs;
  for (const KnobRow& row : kRows) {
    const char* given = lookup(row.name);
    Value value;
    value.set = given != nullptr && *given != '\0';
    value.text = value.set ? given : row.fallback;
    const bool is_text = std::strcmp(row.unit, "name") == 0 || std::strcmp(row.unit, "text") == 0;
    if (!is_text) {
      const bool is_bytes = std::strcmp(row.unit, "bytes") == 0;
      const auto number = is_bytes ? text::parse_bytes(value.text) : text::parse_int(value.text);
      if (!number || *number < least_of(row) || *number > most_of(row))
        return fail(Code::arg, std::string(row.name) + "=" + value.text + " is not " +
                                   form_of(row) + "; unset it or give one");
      value.number = *number;
    }
    TUTTI_DO(check_words(row, value.text));
    if (std::string_view(row.name) == "TUTTI_INTERFACES")
      if (const auto list = InterfaceList::parse(value.text); !list)
        return fail(Code::arg, std::string(row.name) + ": " + list.error().text);
    knobs.values_.push_back(std::move(value));
  }
  return knobs;
}

Knobs Knobs::defaults() {
  return *read([](const char*) { return nullptr; });
}

std::int64_t Knobs::integer(std::string_view name) const {
  return values_[index_of(name)].number;
}
const std::string& Knobs::text(std::string_view name) const {
  return values_[index_of(name)].text;
}
bool Knobs::is_set(std::string_view name) const {
  return values_[index_of(name)].set;
}

}  // namespace tutti
