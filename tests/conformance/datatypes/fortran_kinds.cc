// MPI 5.0, 19.1.5: Fortran's kinds by precision and range are predefined unnamed datatypes: the
// same question gives the same handle, the envelope says what was asked, they take part in
// reductions, and they cannot be freed. MPI_Type_match_size finds predefined types by class and
// size. 6.9.4: MPI_Type_get_value_index finds the pair type for MPI_MINLOC.
#include "check.h"

using namespace ranks;

namespace {

void kinds() {
  int bytes_of_type = 0;
  MPI_Datatype real, again, complex, integer;
  MPI_Type_create_f90_real(12, 200, &real);
  MPI_Type_create_f90_real(12, 200, &again);
  CHECK(real == again);
  MPI_Type_size(real, &bytes_of_type);
  CHECK(bytes_of_type == 8);
  MPI_Type_create_f90_complex(6, MPI_UNDEFINED, &complex);
  MPI_Type_size(complex, &bytes_of_type);
  CHECK(bytes_of_type == 8);
  for (const auto& [range, bytes] : {std::pair{2, 1}, {3, 2}, {9, 4}, {10, 8}, {19, 16}}) {
    MPI_Type_create_f90_integer(range, &integer);
    MPI_Type_size(integer, &bytes_of_type);
    CHECK(bytes_of_type == bytes);
  }
  int integers = 0, addresses = 0, types = 0, combiner = 0, asked[2] = {};
  MPI_Type_get_envelope(real, &integers, &addresses, &types, &combiner);
  CHECK(integers == 2 && addresses == 0 && types == 0 && combiner == MPI_COMBINER_F90_REAL);
  MPI_Type_get_contents(real, 2, 0, 0, asked, nullptr, nullptr);
  CHECK(asked[0] == 12 && asked[1] == 200);

  double mine = rank + 1, sum = 0;
  MPI_Allreduce(&mine, &sum, 1, real, MPI_SUM, MPI_COMM_WORLD);
  CHECK(sum == ranks::size * (ranks::size + 1) / 2);
}

void sizes() {
  const struct {
    int type_class, size;
    MPI_Datatype wanted;
  } rows[] = {{MPI_TYPECLASS_REAL, 4, MPI_REAL4},
              {MPI_TYPECLASS_REAL, 8, MPI_REAL8},
              {MPI_TYPECLASS_INTEGER, 2, MPI_INTEGER2},
              {MPI_TYPECLASS_INTEGER, 8, MPI_INTEGER8},
              {MPI_TYPECLASS_COMPLEX, 16, MPI_COMPLEX16}};
  for (const auto& row : rows) {
    MPI_Datatype found = MPI_DATATYPE_NULL;
    MPI_Type_match_size(row.type_class, row.size, &found);
    CHECK(found == row.wanted);
  }
}

void pairs() {
  MPI_Datatype pair = MPI_INT;
  MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &pair);
  CHECK(pair == MPI_DOUBLE_INT);
  MPI_Type_get_value_index(MPI_DOUBLE, MPI_FLOAT, &pair);
  CHECK(pair == MPI_DATATYPE_NULL);
}

void mistakes() {
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Datatype type = MPI_DATATYPE_NULL;
  CHECK(MPI_Type_create_f90_real(40, 5000, &type) == MPI_ERR_ARG);
  CHECK(MPI_Type_create_f90_integer(80, &type) == MPI_ERR_ARG);
  CHECK(MPI_Type_match_size(MPI_TYPECLASS_REAL, 3, &type) == MPI_ERR_ARG);
  MPI_Type_create_f90_integer(9, &type);
  CHECK(MPI_Type_free(&type) == MPI_ERR_TYPE && type != MPI_DATATYPE_NULL);
}

}  // namespace

int main() {
  begin();
  kinds();
  sizes();
  pairs();
  mistakes();
  return done();
}
