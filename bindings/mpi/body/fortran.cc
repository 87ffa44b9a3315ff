// Chapters 6, 19 and 20: predefined types found by what they must hold (Fortran's kinds, sizes,
// pairs for reductions), and what Fortran's runtime tells us about itself.
#include <array>
#include <cstring>
#include <map>
#include <mutex>

#include "bodies.h"
#include "mpi/trouble.h"

namespace tutti::mpi::body {
namespace {

// What a kind can hold: decimal digits and, for reals, the decimal exponent.
struct FortranKind {
  int digits, range;
  MPI_Datatype real, complex;
};
constexpr int kNoLimit = -1;
const std::array<FortranKind, 3> kReals = {{{6, 37, MPI_REAL4, MPI_COMPLEX8},
                                            {15, 307, MPI_REAL8, MPI_COMPLEX16},
                                            {33, 4931, MPI_REAL16, MPI_COMPLEX32}}};
const std::array<std::pair<int, MPI_Datatype>, 5> kIntegers = {{{2, MPI_INTEGER1},
                                                                {4, MPI_INTEGER2},
                                                                {9, MPI_INTEGER4},
                                                                {18, MPI_INTEGER8},
                                                                {38, MPI_INTEGER16}}};

// Asking twice for the same gives the same handle; these types live as long as the process.
MPI_Datatype unnamed(int combiner, std::initializer_list<Count> numbers, MPI_Datatype base) {
  static std::mutex lock;
  static auto& made = *new std::map<std::vector<Count>, types::TypeRef>;  // see process.h
  std::vector<Count> key(numbers);
  key.push_back(combiner);
  const std::scoped_lock hold(lock);
  types::TypeRef& type = made[key];
  if (!type)
    type = types::make_unnamed(combiner, {numbers.begin(), numbers.size()}, *type_of(base));
  return handle_to(type.get(), MPI_DATATYPE_NULL);
}

const FortranKind* real_kind(int p, int r) {
  const int digits = p == MPI_UNDEFINED ? kNoLimit : p;
  const int range = r == MPI_UNDEFINED ? kNoLimit : r;
  for (const FortranKind& kind : kReals)
    if (digits <= kind.digits && range <= kind.range) return &kind;
  return nullptr;
}

Code no_kind(const char* what, int p, int r) {
  return refuse(Code::arg, std::string("there is no ") + what + " kind with p " +
                               std::to_string(p) + " and r " + std::to_string(r));
}

struct Sized {
  int size;
  MPI_Datatype logical, integer, real, complex;
};
const MPI_Datatype kNone = MPI_DATATYPE_NULL;
const std::array<Sized, 6> kSized = {{{1, MPI_LOGICAL1, MPI_INTEGER1, kNone, kNone},
                                      {2, MPI_LOGICAL2, MPI_INTEGER2, MPI_REAL2, kNone},
                                      {4, MPI_LOGICAL4, MPI_INTEGER4, MPI_REAL4, MPI_COMPLEX4},
                                      {8, MPI_LOGICAL8, MPI_INTEGER8, MPI_REAL8, MPI_COMPLEX8},
                                      {16, MPI_LOGICAL16, MPI_INTEGER16, MPI_REAL16, MPI_COMPLEX16},
                                      {32, kNone, kNone, kNone, MPI_COMPLEX32}}};

}  // namespace

Code type_create_f90_real(int p, int r, MPI_Datatype* newtype) {
  const FortranKind* kind = real_kind(p, r);
  if (kind == nullptr || (p == MPI_UNDEFINED && r == MPI_UNDEFINED)) return no_kind("REAL", p, r);
  *newtype = unnamed(MPI_COMBINER_F90_REAL, {p, r}, kind->real);
  return Code::ok;
}

Code type_create_f90_complex(int p, int r, MPI_Datatype* newtype) {
  const FortranKind* kind = real_kind(p, r);
  if (kind == nullptr || (p == MPI_UNDEFINED && r == MPI_UNDEFINED))
    return no_kind("COMPLEX", p, r);
  *newtype = unnamed(MPI_COMBINER_F90_COMPLEX, {p, r}, kind->complex);
  return Code::ok;
}

Code type_create_f90_integer(int r, MPI_Datatype* newtype) {
  for (const auto& [range, base] : kIntegers)
    if (r <= range) {
      *newtype = unnamed(MPI_COMBINER_F90_INTEGER, {r}, base);
      return Code::ok;
    }
  return refuse(Code::arg, "there is no INTEGER kind with r " + std::to_string(r));
}

Code type_match_size(int typeclass, int size, MPI_Datatype* datatype) {
  for (const Sized& row : kSized) {
    if (row.size != size) continue;
    MPI_Datatype found = kNone;
    if (typeclass == MPIX_TYPECLASS_LOGICAL) found = row.logical;
    if (typeclass == MPI_TYPECLASS_INTEGER) found = row.integer;
    if (typeclass == MPI_TYPECLASS_REAL) found = row.real;
    if (typeclass == MPI_TYPECLASS_COMPLEX) found = row.complex;
    if (found == kNone) break;
    *datatype = found;
    return Code::ok;
  }
  return refuse(Code::arg, "no type of typeclass " + std::to_string(typeclass) + " has " +
                               std::to_string(size) + " bytes");
}

// MPI 5.0, 6.9.4: the type for MPI_MINLOC and MPI_MAXLOC on such pairs, if there is one.
Code type_get_value_index(types::Datatype& value_type, types::Datatype& index_type,
                          MPI_Datatype* pair_type) {
  struct Pair {
    MPI_Datatype value, index, pair;
  };
  static const std::array<Pair, 9> pairs = {
      {{MPI_FLOAT, MPI_INT, MPI_FLOAT_INT},
       {MPI_DOUBLE, MPI_INT, MPI_DOUBLE_INT},
       {MPI_LONG, MPI_INT, MPI_LONG_INT},
       {MPI_INT, MPI_INT, MPI_2INT},
       {MPI_SHORT, MPI_INT, MPI_SHORT_INT},
       {MPI_LONG_DOUBLE, MPI_INT, MPI_LONG_DOUBLE_INT},
       {MPI_REAL, MPI_REAL, MPI_2REAL},
       {MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_2DOUBLE_PRECISION},
       {MPI_INTEGER, MPI_INTEGER, MPI_2INTEGER}}};
  *pair_type = MPI_DATATYPE_NULL;
  for (const Pair& row : pairs)
    if (type_of(row.value) == &value_type && type_of(row.index) == &index_type)
      *pair_type = row.pair;
  return Code::ok;
}

}  // namespace tutti::mpi::body
