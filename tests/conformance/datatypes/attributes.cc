// MPI 5.0, 7.7.4: attributes on datatypes. A dup asks the copy function of every key; freeing a
// type calls the delete functions, newest value first; a key that was freed lives on while values
// hang under it; a decoded type is an object of its own and carries none.
#include "check.h"

using namespace ranks;

namespace {

std::vector<int> deleted;
int copies = 0;

int copy(MPI_Datatype, int, void* extra, void* in, void* out, int* flag) {
  ++copies;
  CHECK(extra == &copies);
  *static_cast<void**>(out) = static_cast<char*>(in) + 1;
  *flag = 1;
  return MPI_SUCCESS;
}
int remove(MPI_Datatype, int key, void*, void*) {
  deleted.push_back(key);
  return MPI_SUCCESS;
}
int refuse_removal(MPI_Datatype, int, void*, void*) {
  return MPI_ERR_OTHER;
}

char* value_of_key(MPI_Datatype type, int key) {
  void* value = nullptr;
  int flag = 0;
  MPI_Type_get_attr(type, key, &value, &flag);
  return flag != 0 ? static_cast<char*>(value) : nullptr;
}

}  // namespace

int main() {
  begin();
  int first, second, third;
  MPI_Type_create_keyval(copy, remove, &first, &copies);
  MPI_Type_create_keyval(MPI_TYPE_DUP_FN, remove, &second, nullptr);
  MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &third, nullptr);
  MPI_Datatype type, dup, outer, inner;
  MPI_Type_contiguous(3, MPI_INT, &type);
  char room[4];
  MPI_Type_set_attr(type, first, &room[0]);
  MPI_Type_set_attr(type, second, &room[1]);
  MPI_Type_set_attr(type, third, &room[2]);
  MPI_Type_dup(type, &dup);
  CHECK(copies == 1);
  CHECK(value_of_key(dup, first) == &room[1]);
  CHECK(value_of_key(dup, second) == &room[1]);
  CHECK(value_of_key(dup, third) == nullptr);

  MPI_Type_vector(2, 1, 2, type, &outer);
  MPI_Type_get_contents(outer, 3, 0, 1, std::vector<int>(3).data(), nullptr, &inner);
  CHECK(value_of_key(inner, second) == nullptr);
  MPI_Type_free(&inner);
  CHECK(deleted.empty());
  MPI_Type_free(&outer);

  const int key = second;
  MPI_Type_free_keyval(&second);
  CHECK(second == MPI_KEYVAL_INVALID);
  CHECK(value_of_key(type, key) == &room[1]);
  MPI_Type_delete_attr(dup, first);
  MPI_Type_free(&type);
  CHECK((deleted == std::vector<int>{first, key, first}));
  MPI_Type_free(&dup);
  CHECK(deleted.size() == 4 && deleted.back() == key);

  // Predefined types carry attributes too; a delete function that fails keeps the value.
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  int stubborn;
  MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, refuse_removal, &stubborn, nullptr);
  MPI_Type_set_attr(MPI_INT, stubborn, room);
  CHECK(MPI_Type_delete_attr(MPI_INT, stubborn) == MPI_ERR_OTHER);
  CHECK(value_of_key(MPI_INT, stubborn) == room);
  CHECK(MPI_Comm_set_attr(MPI_COMM_SELF, first, room) != MPI_SUCCESS);  // not for communicators
  return done();
}
