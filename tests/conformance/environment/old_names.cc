// MPI 5.0, 16: deprecated functions do what their successors do: attributes of communicators by
// Keyval_create and Attr_*, values of an info by Info_get, extents as large counts by _x.
#include <cstring>

#include "check.h"

using namespace ranks;

namespace {

int copied = 0, deleted = 0;

int copy(MPI_Comm, int, void* extra, void* in, void* out, int* flag) {
  ++copied;
  CHECK(*static_cast<int*>(extra) == 7);
  *static_cast<void**>(out) = in;
  *flag = 1;
  return MPI_SUCCESS;
}
int remove(MPI_Comm, int, void*, void*) {
  ++deleted;
  return MPI_SUCCESS;
}

void attributes() {
  int extra = 7, value = 42, other = 43, keyval = MPI_KEYVAL_INVALID, flag = -1;
  int* found = nullptr;
  MPI_Comm comm, duplicate;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  CHECK(MPI_Keyval_create(copy, remove, &keyval, &extra) == MPI_SUCCESS);
  CHECK(keyval != MPI_KEYVAL_INVALID);
  CHECK(MPI_Attr_get(comm, keyval, &found, &flag) == MPI_SUCCESS && flag == 0);
  CHECK(MPI_Attr_put(comm, keyval, &value) == MPI_SUCCESS);
  CHECK(MPI_Attr_get(comm, keyval, &found, &flag) == MPI_SUCCESS && flag != 0 && found == &value);
  MPI_Attr_put(comm, keyval, &other);
  CHECK(deleted == 1);
  MPI_Comm_dup(comm, &duplicate);
  MPI_Comm_get_attr(duplicate, keyval, &found, &flag);
  CHECK(copied == 1 && flag != 0 && found == &other);
  CHECK(MPI_Attr_delete(comm, keyval) == MPI_SUCCESS && deleted == 2);
  MPI_Attr_get(comm, keyval, &found, &flag);
  CHECK(flag == 0);
  MPI_Comm_free(&duplicate);
  CHECK(deleted == 3);
  CHECK(MPI_Keyval_free(&keyval) == MPI_SUCCESS && keyval == MPI_KEYVAL_INVALID);
  MPI_Comm_free(&comm);
}

void values() {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "colour", "ultramarine");
  int length = -1, flag = -1;
  CHECK(MPI_Info_get_valuelen(info, "colour", &length, &flag) == MPI_SUCCESS);
  CHECK(flag != 0 && length == 11);
  char text[12] = "";
  CHECK(MPI_Info_get(info, "colour", 11, text, &flag) == MPI_SUCCESS);
  CHECK(flag != 0 && std::strcmp(text, "ultramarine") == 0);
  MPI_Info_get(info, "colour", 5, text, &flag);
  CHECK(flag != 0 && std::strcmp(text, "ultra") == 0);
  MPI_Info_get(info, "smell", 11, text, &flag);
  CHECK(flag == 0);
  flag = -1;
  MPI_Info_get_valuelen(info, "smell", &length, &flag);
  CHECK(flag == 0);
  MPI_Info_free(&info);
}

void extents() {
  MPI_Datatype inner, type;
  const int lengths[1] = {2}, places[1] = {3};
  MPI_Type_indexed(1, lengths, places, MPI_INT, &inner);
  MPI_Type_create_resized(inner, -8, 1000, &type);
  MPI_Count lower = -1, extent = -1;
  CHECK(MPI_Type_get_extent_x(type, &lower, &extent) == MPI_SUCCESS);
  CHECK(lower == -8 && extent == 1000);
  CHECK(MPI_Type_get_true_extent_x(type, &lower, &extent) == MPI_SUCCESS);
  CHECK(lower == 12 && extent == 8);
  MPI_Type_free(&inner);
  MPI_Type_free(&type);
}

}  // namespace

int main() {
  begin();
  attributes();
  values();
  extents();
  return done();
}
