// What a collective is given and takes: memory in layouts that each rank draws, and how long it is.
#include "job.h"

namespace program {
namespace {

constexpr std::uint32_t kNobodys = 0xA5A5A5A5U;

constexpr Layout kLayouts[] = {
    {1, 1, {0}},
    {1, 2, {0}},
    {2, 3, {0, 1}},
    {3, 5, {4, 0, 2}},  // the first of them comes last
    {6, 6, {0, 1, 2, 3, 4, 5}},
    {6, 9, {0, 1, 3, 4, 6, 7}},
    {6, 11, {1, 3, 4, 5, 7, 8}},
    {6, 8, {3, 4, 5, 6, 7, 0}},
};

// Where ways change: entries and blocks that are read, parts of rounds, frames, rounds that are
// kept, pieces.
constexpr int kEdges[] = {2 << 10,   4 << 10,   8 << 10, 16 << 10, 24 << 10, 64 << 10,
                          128 << 10, 256 << 10, 1 << 19, 1 << 20,  2 << 20,  7 << 19};
constexpr int kMostWords = 4 << 20;  // that all ranks together work out in a call

int near_an_edge(Random& random) {
  constexpr int kAll = std::size(kEdges);
  const int first = world->is_long ? 2 * kAll / 3 : 0;
  const int words = kEdges[random.between(first, kAll - 1)] / 4;
  const int kind = random.below(5), off = random.below(words / 2 + 1);
  if (kind == 0) return words;
  if (kind == 1) return words - 1 - off % 16;
  if (kind == 2) return words + 1 + off % 16;
  return words + off;
}

}  // namespace

Memory::~Memory() {
  for (MPI_Datatype& type : made_)
    if (type != MPI_DATATYPE_NULL) MPI_Type_free(&type);
}

void Memory::draw(int grain, bool in_bytes) {
  in_bytes_ = in_bytes;
  if (!world->on("layouts")) return;
  const Layout& drawn = kLayouts[world->mine.below(std::size(kLayouts))];
  if (grain % drawn.words == 0 && world->mine.one_in(2)) layout_ = drawn;
  from_bottom_ = world->mine.one_in(6);
}

void Memory::room(int words, const Memory* alike) {
  if (alike != nullptr) layout_ = alike->layout_;
  all.assign(as_size(words / layout_.words * layout_.extent) + 1, kNobodys);
}

void Memory::put(int place, std::uint64_t id, int count) {
  std::uint32_t* at = all.data() + place / layout_.words * layout_.extent;
  for (int i = 0; i < count; at += layout_.extent)
    for (int k = 0; k < layout_.words; ++k, ++i) at[layout_.places[k]] = word(id, as_size(i));
}

void Memory::copy(const std::vector<std::uint32_t>& words) {
  std::copy(words.begin(), words.end(), all.begin());
}

int Memory::scale(int words, bool in_bytes) const {
  return layout_.extent == 1 && !from_bottom_ && in_bytes ? 4 * words : words / layout_.words;
}

// Freed with the memory: perhaps while what was made of it goes on.
MPI_Datatype Memory::type(bool in_bytes) {
  const MPI_Datatype word = in_bytes ? MPI_BYTE : MPI_UINT32_T;
  if (is_plain()) return word;
  MPI_Datatype& type = made_[in_bytes ? 1 : 0];
  if (type != MPI_DATATYPE_NULL) return type;
  MPI_Aint base = 0, places[6];
  if (from_bottom_) OK(MPI_Get_address(all.data(), &base));
  for (int k = 0; k < layout_.words; ++k) places[k] = base + 4 * layout_.places[k];
  MPI_Datatype words;
  OK(MPI_Type_create_hindexed_block(layout_.words, in_bytes ? 4 : 1, places, word, &words));
  OK(MPI_Type_create_resized(words, base, 4 * layout_.extent, &type));
  OK(MPI_Type_free(&words));
  OK(MPI_Type_commit(&type));
  return type;
}

std::vector<std::uint32_t> Job::words_of(int from, int count) const {
  std::vector<std::uint32_t> words(as_size(count));
  const std::uint64_t base = block(from, 0);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = word(base, i);
  return words;
}

int Job::varied(int from, int to) const {
  const std::uint64_t drawn = mix(id, static_cast<std::uint64_t>(from * 131 + to));
  const auto below = [&](int most) { return static_cast<int>((drawn >> 8) % as_size(most + 1)); };
  const int small = std::min(n, drawn % 3 == 0 ? 0 : below(12 * grain)), near = n - below(n / 8);
  bool is_long = false;
  switch (spread) {
    case Spread::any:
      return below(n) / grain * grain;
    case Spread::mixed:
      return (drawn % 4 == 0 ? below(n) : drawn % 4 == 1 ? near : small) / grain * grain;
    case Spread::own:
      is_long = from == to;
      break;
    case Spread::others:
      is_long = from != to;
      break;
    case Spread::own_and_one:
      is_long = from == to || from == chosen;
      break;
    case Spread::one_giver:
      is_long = from == chosen;
      break;
    case Spread::one_taker:
      is_long = to == chosen;
      break;
  }
  return (is_long ? near : small) / grain * grain;
}

void Job::renew(std::uint64_t which) {
  round = which;
  in.set(0x11111111U);
  out.set(kNobodys);
  want.set(kNobodys);
  if (fill) fill();
  given = in.all;
}

// Mostly short, some of them many times; or long, where that is not more than `kMostWords`.
void draw_size(Job& job, bool reduces) {
  Random& plan = world->plan;
  const int members = job.node->members();
  const int few = std::min(random_count(plan), 20000), edge = near_an_edge(plan);
  const bool is_long = plan.one_in(world->is_long ? 2 : 8) && world->on("long");
  const bool is_often = plan.one_in(8);
  job.rounds = plan.between(1, 3);
  const int often = plan.between(5, 30);
  job.grain = plan.one_in(2) ? 6 : 1;
  job.spread = static_cast<Spread>(plan.below(kSpreads));
  job.n = few > 300 ? 1 + few / members : few;
  if (is_long) job.n = edge;
  const bool is_own = job.spread == Spread::own || job.spread == Spread::own_and_one;
  const int cost = reduces ? members * members * members : is_own ? 2 * members : members * members;
  job.n = std::min(job.n, kMostWords / cost);
  if (is_often) job.rounds = std::clamp(kMostWords / cost / (job.n + 1), 1, often);
  job.n = (job.n + job.grain - 1) / job.grain * job.grain;
}

}  // namespace program
