// One collective: its memory, what must come out of it, and how it is run in each of its forms.
#pragma once

#include <algorithm>

#include "random.h"

namespace program {

enum class Form { blocking, nonblocking, persistent };

struct Job {
  Node* node = nullptr;
  std::uint64_t id = 0;
  Form form = Form::blocking;
  int delay = 1, rounds = 1;
  bool in_place = false, in_bytes = false;
  int n = 0;         // words a block
  int root = 0;      // rank of the job
  Ranks own, other;  // my side, and the side whose data I get
  int me = 0;
  std::size_t checked = SIZE_MAX;  // so many words of what comes out

  std::vector<std::uint32_t> in, out, want;
  std::vector<int> in_counts, in_places, out_counts, out_places;
  std::vector<MPI_Datatype> in_types, out_types;

  // A word of the block that `from` has for `to` (-1: for everyone).
  std::uint32_t word_of(int from, int to, int at) const {
    return word(mix(id, static_cast<std::uint64_t>(from * 4099 + to)), as_size(at));
  }
  void put(std::vector<std::uint32_t>& where, int place, int from, int to, int count) const {
    for (int i = 0; i < count; ++i) where[as_size(place + i)] = word_of(from, to, i);
  }
  int p() const { return static_cast<int>(own.size()); }
  int q() const { return static_cast<int>(other.size()); }
  int index() const {
    return static_cast<int>(std::find(own.begin(), own.end(), me) - own.begin());
  }
  MPI_Datatype type() const { return in_bytes ? MPI_BYTE : MPI_UINT32_T; }
  int scale(int words) const { return in_bytes ? 4 * words : words; }
  void room(int in_words, int out_words) {
    in.assign(as_size(in_words) + 1, 0x11111111U);
    want.assign(as_size(out_words) + 1, 0xA5A5A5A5U);
    out = want;
  }
  void check() const;
};

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
