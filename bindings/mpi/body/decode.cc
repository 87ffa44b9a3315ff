// Chapter 5: how a datatype was made, elements of a message, distributed arrays.
#include <algorithm>

#include "bodies.h"
#include "mpi/checks.h"
#include "mpi/convert.h"
#include "mpi/trouble.h"

namespace tutti::mpi::body {
namespace {

Code too_small(const char* which) {
  return refuse(Code::arg, std::string(which) + " is smaller than what MPI_Type_get_envelope says");
}
Code needs_large() {
  return refuse(Code::type, "the datatype was made with large counts; use the _c function");
}

// Copies the numbers; false when there is no room for them.
template <class Integer>
bool put(const std::vector<Count>& numbers, Count room, Integer* into) {
  if (room < static_cast<Count>(numbers.size())) return false;
  std::transform(numbers.begin(), numbers.end(), into,
                 [](Count number) { return static_cast<Integer>(number); });
  return true;
}

// Handles to the older types; the user frees those that are not predefined, so they are objects
// of their own.
bool put_types(const std::vector<types::TypeRef>& olds, Count room, MPI_Datatype* into) {
  if (room < static_cast<Count>(olds.size())) return false;
  for (const types::TypeRef& old : olds) {
    types::Datatype* const given = old->is_basic() ? old.get() : types::make_again(*old).hand_out();
    *into++ = handle_to(given, MPI_DATATYPE_NULL);
  }
  return true;
}

// One dimension of a distributed array.
Result<types::Deal> deal_of(Count gsize, int distrib, int darg, int psize, int i) {
  const auto wrong = [i](const char* array, Count value, const char* why) {
    return fail(Code::arg, std::string(array) + "[" + std::to_string(i) + "] is " +
                               std::to_string(value) + ", " + why);
  };
  if (gsize < 1) return wrong("array_of_gsizes", gsize, "below one");
  if (psize < 1) return wrong("array_of_psizes", psize, "below one");
  if (distrib == MPI_DISTRIBUTE_NONE)  // whose argument is ignored
    return types::Deal{gsize, types::Spread::none, std::max(0, darg), psize};
  if (darg != MPI_DISTRIBUTE_DFLT_DARG && darg < 1)
    return wrong("array_of_dargs", darg, "below one and not MPI_DISTRIBUTE_DFLT_DARG");
  const Count argument = darg == MPI_DISTRIBUTE_DFLT_DARG ? 0 : darg;
  switch (distrib) {
    case MPI_DISTRIBUTE_BLOCK:
      return types::Deal{gsize, types::Spread::block, argument, psize};
    case MPI_DISTRIBUTE_CYCLIC:
      return types::Deal{gsize, types::Spread::cyclic, argument, psize};
    default:
      return wrong("array_of_distribs", distrib, "none of the MPI_DISTRIBUTE values");
  }
}

}  // namespace

Code type_get_envelope_c(types::Datatype& datatype, Count* num_integers, Count* num_addresses,
                         Count* num_large_counts, Count* num_datatypes, int* combiner) {
  const types::Made& made = datatype.made();
  *num_integers = static_cast<Count>(made.integers.size());
  *num_addresses = static_cast<Count>(made.addresses.size());
  *num_large_counts = static_cast<Count>(made.counts.size());
  *num_datatypes = static_cast<Count>(made.types.size());
  *combiner = made.combiner;
  return Code::ok;
}

Code type_get_envelope(types::Datatype& datatype, Count* num_integers, Count* num_addresses,
                       Count* num_datatypes, int* combiner) {
  if (datatype.made().is_large) return needs_large();
  Count none = 0;
  return type_get_envelope_c(datatype, num_integers, num_addresses, &none, num_datatypes, combiner);
}

Code type_get_contents_c(types::Datatype& datatype, Count max_integers, Count max_addresses,
                         Count max_large_counts, Count max_datatypes, int array_of_integers[],
                         MPI_Aint array_of_addresses[], MPI_Count array_of_large_counts[],
                         MPI_Datatype array_of_datatypes[]) {
  const types::Made& made = datatype.made();
  if (made.combiner == MPI_COMBINER_NAMED)
    return refuse(Code::type, "a predefined datatype has no contents");
  if (!put(made.integers, max_integers, array_of_integers)) return too_small("max_integers");
  if (!put(made.addresses, max_addresses, array_of_addresses)) return too_small("max_addresses");
  if (!put(made.counts, max_large_counts, array_of_large_counts))
    return too_small("max_large_counts");
  if (!put_types(made.types, max_datatypes, array_of_datatypes)) return too_small("max_datatypes");
  return Code::ok;
}

Code type_get_contents(types::Datatype& datatype, Count max_integers, Count max_addresses,
                       Count max_datatypes, int array_of_integers[], MPI_Aint array_of_addresses[],
                       MPI_Datatype array_of_datatypes[]) {
  if (datatype.made().is_large) return needs_large();
  return type_get_contents_c(datatype, max_integers, max_addresses, 0, max_datatypes,
                             array_of_integers, array_of_addresses, nullptr, array_of_datatypes);
}

Code get_elements(const MPI_Status* status, types::Datatype& datatype, Count* count) {
  const auto elements = types::elements_in(datatype, bytes_in(*status));
  *count = elements ? *elements : Count{MPI_UNDEFINED};
  return Code::ok;
}

Code status_set_elements(MPI_Status* status, types::Datatype& datatype, Count count) {
  if (!good_number(count, Code::count, "count")) return Code::count;
  set_bytes(*status, types::bytes_of_elements(datatype, count));
  return Code::ok;
}

Code type_create_darray(int size, int rank, int ndims, std::span<const Count> array_of_gsizes,
                        const int array_of_distribs[], const int array_of_dargs[],
                        const int array_of_psizes[], int order, types::Datatype& oldtype,
                        MPI_Datatype* newtype) {
  if (order != MPI_ORDER_C && order != MPI_ORDER_FORTRAN)
    return refuse(Code::arg, "order is neither MPI_ORDER_C nor MPI_ORDER_FORTRAN");
  if (!good_array(array_of_dargs, ndims, "array_of_dargs")) return trouble().code;
  std::vector<types::Deal> dims;
  Count ranks = 1;
  for (int i = 0; i < ndims; ++i) {
    const Count gsize = array_of_gsizes[static_cast<std::size_t>(i)];
    const auto deal =
        deal_of(gsize, array_of_distribs[i], array_of_dargs[i], array_of_psizes[i], i);
    if (!deal) return note(deal);
    dims.push_back(*deal);
    if (ranks <= size) ranks *= deal->ranks;  // 64 bits hold it
  }
  if (ranks != size || rank < 0 || rank >= size)
    return refuse(Code::arg,
                  "the process grid has " + std::to_string(ranks) +
                      (ranks > size ? " places or more, size is " : " places, size is ") +
                      std::to_string(size) + " and rank " + std::to_string(rank));
  const auto by = order == MPI_ORDER_FORTRAN ? types::ArrayOrder::fortran : types::ArrayOrder::c;
  return give(types::make_darray(rank, dims, by, oldtype), newtype);
}

}  // namespace tutti::mpi::body
