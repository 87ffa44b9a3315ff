// The table of kinds, and lists of them.
#include "mpi/memory_kinds.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "base/text.h"
#include "mpi/process.h"

namespace tutti::mpi {
namespace {

struct KindRow {
  std::string_view name;
  MemoryKind memory;
  std::array<std::string_view, 3> restrictors;
};
constexpr std::array kKinds{
    KindRow{"mpi", MemoryKind::host, {"alloc_mem", "win_allocate", "win_allocate_shared"}},
    KindRow{"system", MemoryKind::host, {}},
    KindRow{"cuda", MemoryKind::cuda, {"host", "device", "managed"}},
};

// "cuda:device"
bool is_provided(const std::string& kind) {
  const std::vector<std::string> parts = text::split(kind, ':');
  const auto row = std::find_if(kKinds.begin(), kKinds.end(),
                                [&](const KindRow& one) { return one.name == parts.front(); });
  if (row == kKinds.end() || !takes_memory(row->memory)) return false;
  return std::all_of(parts.begin() + 1, parts.end(), [&](const std::string& part) {
    return !part.empty() && std::find(row->restrictors.begin(), row->restrictors.end(), part) !=
                                row->restrictors.end();
  });
}

std::span<types::Vendor* const> vendors() {
  return process.world->endpoint().devices().vendors();
}

std::vector<std::string> kinds_in(std::string_view list) {
  std::vector<std::string> kinds;
  for (const std::string& one : text::split(list, ','))
    if (const auto word = text::trim(one); !word.empty()) kinds.emplace_back(word);
  return kinds;
}

}  // namespace

bool takes_memory(MemoryKind kind, bool may_start) {
  if (kind == MemoryKind::host) return true;
  if (process.world == nullptr) return false;
  process.world->enter();
  const bool takes = std::ranges::any_of(vendors(), [=](auto* each) {
    return each->kind() == kind && each->ask_for_devices(may_start);
  });
  process.world->leave();
  return takes;
}

bool looks_for_memory(MemoryKind kind) {
  return kind == MemoryKind::host ||
         (process.world != nullptr && std::ranges::any_of(vendors(), [kind](const auto* each) {
            return each->kind() == kind;
          }));
}

std::string kinds_asked_for() {
  const char* const asked = knob_from_environment("TUTTI_MEMORY_ALLOC_KINDS");
  return asked == nullptr ? "" : asked;
}

std::string kinds_provided(std::string_view asked) {
  std::vector<std::string> all{"mpi", "system"};
  if (takes_memory(MemoryKind::cuda))
    all.insert(all.end(), {"cuda", "cuda:host", "cuda:device", "cuda:managed"});
  for (const std::string& kind : kinds_in(asked))
    if (is_provided(kind) && std::find(all.begin(), all.end(), kind) == all.end())
      all.push_back(kind);
  std::string list;
  for (const std::string& kind : all) list += (list.empty() ? "" : ",") + kind;
  return list;
}

bool are_kinds_provided(std::string_view kinds) {
  const std::vector<std::string> all = kinds_in(kinds);
  return std::all_of(all.begin(), all.end(), is_provided);
}

}  // namespace tutti::mpi
