// drawn: a collective with drawn types, layouts, forms and kinds of memory, and what it has to
// give: the same call on host memory says it.
//
// What members must say alike comes of a luck that they share; memory and layouts are each one's
// own.
#pragma once

#include <functional>

#include "area.h"

namespace gpu {

inline std::mt19937& common_luck() {
  static const char* const seed = std::getenv("GPU_TEST_SEED");
  static std::mt19937 engine(seed == nullptr ? 17U : static_cast<unsigned>(std::atoi(seed)));
  return engine;
}
inline int drawn_alike(int below) {
  return static_cast<int>(common_luck()() % static_cast<unsigned>(below));
}

enum Form { kBlocking, kNonblocking, kPersistent };

// One of the three forms of a collective, waited for.
#define CALL(form, Name, name, ...)                                       \
  do {                                                                    \
    MPI_Request request;                                                  \
    const ::gpu::Form drawn = (form);                                     \
    if (drawn == ::gpu::kBlocking) MPI_##Name(__VA_ARGS__);               \
    if (drawn == ::gpu::kNonblocking) MPI_I##name(__VA_ARGS__, &request); \
    if (drawn == ::gpu::kPersistent) {                                    \
      MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, &request);            \
      MPI_Start(&request);                                                \
    }                                                                     \
    if (drawn != ::gpu::kBlocking) MPI_Wait(&request, MPI_STATUS_IGNORE); \
    if (drawn == ::gpu::kPersistent) MPI_Request_free(&request);          \
  } while (false)

struct Element {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  std::size_t extent = 0;
  std::vector<std::size_t> ints = {};  // of six ints: where they are
};
inline constexpr std::size_t kMostExtent = 44;

// Six ints in one piece, in equal pieces, in others, and far apart.
const std::vector<Element>& layouts();

// What the elements of a call are.
struct Sort {
  std::vector<Element> choices;  // alike to their receivers
  const Element& any() const { return choices[luck()() % choices.size()]; }
  // Content of one element that any operation may be given; null: any bits.
  void (*fill)(std::byte* element, unsigned number) = nullptr;
  MPI_Op op = MPI_OP_NULL;
};
Sort any_sort();      // of what is only moved
Sort any_operands();  // with an operation, and the same element on all ranks

void free_sorts();  // nothing is drawn any more

struct Sides {
  void *send, *recv;
  Element from, into;
  Form form;
  MPI_Op op;
};
using Call = std::function<void(const Sides& sides)>;

// `sent`, `received`: elements of this rank's buffers; `known`: of those received, from the first,
// what the standard says something about.
struct Counts {
  int sent, received;
  int known = -1;  // all
};
void compare(const char* name, const Sort& sort, const Counts& counts, const Call& call);

void between_neighbours(int n);
void between_groups(int n);

}  // namespace gpu
