// One collective: its memory, what must come out of it, and how it is run in each of its forms.
#pragma once

#include <algorithm>
#include <functional>

#include "random.h"

namespace program {

enum class Form { blocking, nonblocking, persistent };

// How words lie in memory: in elements of so many, at these places of so many that an element
// takes.
struct Layout {
  int words, extent;
  int places[6];
};

// One side's memory, told to a call in elements of its layout. What lies between words is nobody's.
class Memory {
 public:
  Memory() = default;
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // Any layout whose elements divide `grain` words.
  void draw(int grain, bool in_bytes);
  void room(int words, const Memory* alike = nullptr);  // laid out as `alike` is
  void set(std::uint32_t word) { std::fill(all.begin(), all.end(), word); }
  void put(int place, std::uint64_t id, int count);
  void copy(const std::vector<std::uint32_t>& words);
  // As a call is told.
  void* address() { return from_bottom_ ? MPI_BOTTOM : all.data(); }
  MPI_Datatype type() { return type(in_bytes_); }
  MPI_Datatype type(bool in_bytes);
  int scale(int words) const { return scale(words, in_bytes_); }
  int scale(int words, bool in_bytes) const;
  int bytes_at(int place) const { return place / layout_.words * layout_.extent * 4; }

  std::vector<std::uint32_t> all;

 private:
  bool is_plain() const { return layout_.extent == 1 && !from_bottom_; }

  Layout layout_{1, 1, {0}};
  bool in_bytes_ = false, from_bottom_ = false;
  MPI_Datatype made_[2] = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};  // of words, of bytes
};

// Of blocks whose sizes differ: which are long.
enum class Spread { any, mixed, own, others, own_and_one, one_giver, one_taker };
constexpr int kSpreads = 7;

struct Job {
  Node* node = nullptr;
  std::uint64_t id = 0;
  Form form = Form::blocking;
  int delay = 1, rounds = 1;
  bool in_place = false, in_bytes = false;
  int n = 0;      // words a block, or at most
  int grain = 1;  // of which all numbers and places of words are multiples
  Spread spread = Spread::any;
  int chosen = 0;    // rank of the job: of which spread speaks
  int root = 0;      // rank of the job
  Ranks own, other;  // my side, and the side whose data I get
  int me = 0;
  std::size_t checked = SIZE_MAX;  // so many words of what comes out
  std::uint64_t round = 0;         // each carries words of its own

  Memory in, out, want;
  std::vector<std::uint32_t> given;  // what stood in `in`
  std::vector<int> in_counts, in_places, out_counts, out_places;
  std::vector<MPI_Datatype> in_types, out_types;
  std::function<void()> fill;  // puts this round's words where they belong

  // The words of the block that `from` has for `to` (-1: for everyone).
  std::uint64_t block(int from, int to) const {
    return mix(id + (round << 40), static_cast<std::uint64_t>(from * 4099 + to));
  }
  std::vector<std::uint32_t> words_of(int from, int count) const;
  void put(Memory& where, int place, int from, int to, int count) const {
    where.put(place, block(from, to), count);
  }
  int p() const { return static_cast<int>(own.size()); }
  int q() const { return static_cast<int>(other.size()); }
  int index() const {
    return static_cast<int>(std::find(own.begin(), own.end(), me) - own.begin());
  }
  void room(int in_words, int out_words) {
    in.room(in_words);
    out.room(out_words);
    want.room(out_words, &out);
  }
  int varied(int from, int to) const;  // words of that block where blocks differ
  void renew(std::uint64_t which);     // before each round
  void check();
};
void draw_size(Job& job, bool reduces);

// How this rank stands to the root of a rooted collective.
struct Rooted {
  bool is_root, gives, absent;  // gives: has a part in it that is not the root's
  int argument;
  explicit Rooted(const Job& job);
};

// What stands where an argument is not looked at.
struct Junk {
  bool on;
  Junk() : on(world->on("garbage") && world->mine.one_in(2)) {}
  void* pointer(void* plain = nullptr) const {
    return on ? reinterpret_cast<void*>(static_cast<std::uintptr_t>(0x1357)) : plain;
  }
  const int* counts() const { return on ? static_cast<const int*>(pointer()) : nullptr; }
  int count() const { return on ? -17 : 0; }
  MPI_Datatype type() const {
    return on ? reinterpret_cast<MPI_Datatype>(
                    static_cast<std::uintptr_t>(world->mine.one_in(2)   ? 0x7fff12345678
                                                : world->mine.one_in(2) ? 0x2468
                                                                        : 0))
              : MPI_UINT32_T;
  }
  const MPI_Datatype* types() const {
    return on ? static_cast<const MPI_Datatype*>(pointer()) : nullptr;
  }
  MPI_Comm comm() const {
    return on ? reinterpret_cast<MPI_Comm>(static_cast<std::uintptr_t>(0x99999999)) : MPI_COMM_NULL;
  }
};

using Blocking = std::function<int()>;
using Starting = std::function<int(MPI_Request*)>;
void perform(const std::shared_ptr<Job>& job, const Blocking& blocking, const Starting& start,
             const Starting& init);

// Collectives by family; each is called by members only.
void move_to_or_from_root(const std::shared_ptr<Job>& job, int which);
void move_among_all(const std::shared_ptr<Job>& job, int which);
void reduce_somehow(const std::shared_ptr<Job>& job, int which);

}  // namespace program

#define IN_ITS_FORM(job, Name, name, ...)                                      \
  perform(                                                                     \
      job, [=] { return MPI_##Name(__VA_ARGS__); },                            \
      [=](MPI_Request* request) { return MPI_I##name(__VA_ARGS__, request); }, \
      [=](MPI_Request* request) {                                              \
        return MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, request);         \
      })
