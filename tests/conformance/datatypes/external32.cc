// MPI 5.0, 5.3 and 14.5.2: external32 is big-endian, without gaps, with the sizes of its table
// (MPI_LONG 4, MPI_WCHAR 2, long double an IEEE binary128); position moves by what was used; what
// was packed unpacks into another type with the same signature; a value that does not fit is an
// error of class MPI_ERR_CONVERSION.
#include <cstring>

#include "check.h"

using namespace ranks;

namespace {

struct Mixed {
  char letter;
  double number;
  short few[3];
};

MPI_Datatype mixed_type() {
  const int blocks[3] = {1, 1, 3};
  const MPI_Aint places[3] = {0, 8, 16};
  const MPI_Datatype types[3] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT};
  MPI_Datatype plain, type;
  MPI_Type_create_struct(3, blocks, places, types, &plain);
  MPI_Type_create_resized(plain, 0, sizeof(Mixed), &type);
  MPI_Type_free(&plain);
  MPI_Type_commit(&type);
  return type;
}

void bytes_are_as_written(void* value, MPI_Datatype type, std::vector<unsigned char> wanted) {
  MPI_Aint size = -1, position = 0;
  MPI_Pack_external_size("external32", 1, type, &size);
  CHECK(size == static_cast<MPI_Aint>(wanted.size()));
  std::vector<unsigned char> packed(wanted.size() + 1, 0x5a);
  MPI_Pack_external("external32", value, 1, type, packed.data(), size, &position);
  CHECK(position == size && packed.back() == 0x5a);
  packed.pop_back();
  CHECK(packed == wanted);
}

void tables() {
  int i = 0x01020304;
  bytes_are_as_written(&i, MPI_INT, {1, 2, 3, 4});
  const unsigned char bytes[5] = {9, 4, 3, 2, 1};
  MPI_Aint position = 1;
  MPI_Unpack_external("external32", bytes, 5, &position, &i, 1, MPI_INT);
  CHECK(i == 0x04030201 && position == 5);
  double d = 1.0;
  bytes_are_as_written(&d, MPI_DOUBLE, {0x3f, 0xf0, 0, 0, 0, 0, 0, 0});
  long narrow = -2;
  bytes_are_as_written(&narrow, MPI_LONG, {0xff, 0xff, 0xff, 0xfe});
  wchar_t wide = L'A';
  bytes_are_as_written(&wide, MPI_WCHAR, {0, 65});
  long double extended = -2.0L;
  std::vector<unsigned char> quad(16, 0);
  quad[0] = 0xc0;
  bytes_are_as_written(&extended, MPI_LONG_DOUBLE, quad);
  struct {
    short value;
    int index;
  } pair = {1, 2};
  bytes_are_as_written(&pair, MPI_SHORT_INT, {0, 1, 0, 0, 0, 2});
}

void structs_go_around() {
  MPI_Datatype type = mixed_type();
  std::vector<Mixed> out(3000), in(3000);
  for (std::size_t k = 0; k < out.size(); ++k)
    out[k] = {static_cast<char>(k), static_cast<double>(k) / 3, {short(k), short(k + 1), -7}};
  MPI_Count size = 0, position = 0;
  MPI_Pack_external_size_c("external32", 3000, type, &size);
  CHECK(size == 3000 * 15);
  std::vector<char> packed(static_cast<std::size_t>(size));
  MPI_Pack_external_c("external32", out.data(), 3000, type, packed.data(), size, &position);
  CHECK(position == size);
  position = 0;
  MPI_Unpack_external_c("external32", packed.data(), size, &position, in.data(), 1000, type);
  CHECK(position == size / 3);
  MPI_Unpack_external_c("external32", packed.data(), size, &position, &in[1000], 2000, type);
  bool same = true;
  for (std::size_t k = 0; k < out.size(); ++k)
    same = same && in[k].letter == out[k].letter && in[k].number == out[k].number &&
           std::memcmp(in[k].few, out[k].few, sizeof in[k].few) == 0;
  CHECK(same);
  MPI_Type_free(&type);
}

void mistakes() {
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  long large = 1L << 40;
  char packed[8];
  MPI_Aint position = 0;
  CHECK(class_of(MPI_Pack_external("external32", &large, 1, MPI_LONG, packed, 8, &position)) ==
        MPI_ERR_CONVERSION);
  CHECK(class_of(MPI_Pack_external("native64", &large, 1, MPI_LONG, packed, 8, &position)) ==
        MPI_ERR_UNSUPPORTED_DATAREP);
  double d[2] = {};
  position = 0;
  CHECK(MPI_Pack_external("external32", d, 2, MPI_DOUBLE, packed, 8, &position) != MPI_SUCCESS);
  CHECK(position == 0);
}

}  // namespace

int main() {
  begin();
  tables();
  structs_go_around();
  mistakes();
  return done();
}
