// Copy and delete functions of attributes that do what nobody expects of them: they delete other
// attributes and their own, set them again, free keys and communicators (MPI 5.0, 7.7.2).
#include "check.h"

using namespace ranks;

namespace {

bool has(MPI_Comm comm, int key) {
  void* value = nullptr;
  int flag = 0;
  MPI_Comm_get_attr(comm, key, &value, &flag);
  return flag != 0;
}

int other_key = MPI_KEYVAL_INVALID, own_key = MPI_KEYVAL_INVALID;
int deleted = 0;

int copy_it(MPI_Comm, int, void*, void* in, void* out, int* flag) {
  *static_cast<void**>(out) = in;
  *flag = 1;
  return MPI_SUCCESS;
}
int count_it(MPI_Comm, int, void*, void*) {
  ++deleted;
  return MPI_SUCCESS;
}
int delete_other(MPI_Comm from, int, void*, void* in, void* out, int* flag) {
  MPI_Comm_delete_attr(from, other_key);
  return copy_it(from, 0, nullptr, in, out, flag);
}
int delete_own_and_key(MPI_Comm from, int key, void*, void* in, void* out, int* flag) {
  MPI_Comm_delete_attr(from, key);
  MPI_Comm_free_keyval(&own_key);
  return copy_it(from, 0, nullptr, in, out, flag);
}
int refuse_it(MPI_Comm, int, void*, void*, void*, int*) {
  return MPI_ERR_OTHER;
}

void copies() {
  int value = 5, mean = MPI_KEYVAL_INVALID;
  MPI_Comm from, to;
  for (const bool is_first : {false, true}) {
    MPI_Comm_dup(MPI_COMM_SELF, &from);
    if (is_first) MPI_Comm_create_keyval(delete_other, count_it, &mean, nullptr);
    MPI_Comm_create_keyval(copy_it, count_it, &other_key, nullptr);
    if (!is_first) MPI_Comm_create_keyval(delete_other, count_it, &mean, nullptr);
    MPI_Comm_set_attr(from, mean, &value);
    MPI_Comm_set_attr(from, other_key, &value);
    deleted = 0;
    CHECK(MPI_Comm_dup(from, &to) == MPI_SUCCESS);
    CHECK(deleted == 1 && !has(from, other_key) && has(to, mean));
    CHECK(has(to, other_key) == !is_first);  // copied before it was deleted, or not at all
    MPI_Comm_free(&to);
    MPI_Comm_free(&from);
    CHECK(deleted == (is_first ? 3 : 4));
    MPI_Comm_free_keyval(&mean);
    MPI_Comm_free_keyval(&other_key);
  }
  MPI_Comm_dup(MPI_COMM_SELF, &from);
  MPI_Comm_create_keyval(delete_own_and_key, count_it, &own_key, nullptr);
  MPI_Comm_set_attr(from, own_key, &value);
  const int key = own_key;
  CHECK(MPI_Comm_dup(from, &to) == MPI_SUCCESS);
  CHECK(!has(from, key) && has(to, key));
  MPI_Comm_free(&to);
  MPI_Comm_free(&from);
}

void copies_that_fail() {
  int value = 5, good = 0, bad = 0;
  MPI_Comm from, to = MPI_COMM_SELF;
  MPI_Comm_dup(MPI_COMM_SELF, &from);
  MPI_Comm_create_keyval(copy_it, count_it, &good, nullptr);
  MPI_Comm_create_keyval(refuse_it, count_it, &bad, nullptr);
  MPI_Comm_set_attr(from, good, &value);
  MPI_Comm_set_attr(from, bad, &value);
  deleted = 0;
  CHECK(MPI_Comm_dup(from, &to) != MPI_SUCCESS);
  CHECK(deleted == 1);  // the copy that was made
  CHECK(to == MPI_COMM_NULL);
  MPI_Request request;
  to = MPI_COMM_SELF;
  CHECK(MPI_Comm_idup(from, &to, &request) != MPI_SUCCESS);
  CHECK(deleted == 2 && to == MPI_COMM_NULL && request == MPI_REQUEST_NULL);
  MPI_Comm_free(&from);
  CHECK(deleted == 4);
  MPI_Comm_free_keyval(&good);
  MPI_Comm_free_keyval(&bad);
}

int copy_type(MPI_Datatype from, int, void*, void* in, void* out, int* flag) {
  MPI_Type_delete_attr(from, other_key);
  *static_cast<void**>(out) = in;
  *flag = 1;
  return MPI_SUCCESS;
}
int refuse_type(MPI_Datatype, int, void*, void*, void*, int*) {
  return MPI_ERR_OTHER;
}
void copies_of_types() {
  int value = 5, mean = 0, flag = -1;
  void* got = nullptr;
  MPI_Datatype from, to = MPI_INT;
  MPI_Type_contiguous(2, MPI_INT, &from);
  MPI_Type_create_keyval(refuse_type, MPI_TYPE_NULL_DELETE_FN, &mean, nullptr);
  MPI_Type_set_attr(from, mean, &value);
  CHECK(MPI_Type_dup(from, &to) != MPI_SUCCESS && to == MPI_DATATYPE_NULL);
  MPI_Type_delete_attr(from, mean);
  MPI_Type_free_keyval(&mean);
  MPI_Type_create_keyval(copy_type, MPI_TYPE_NULL_DELETE_FN, &mean, nullptr);
  MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, &other_key, nullptr);
  MPI_Type_set_attr(from, mean, &value);
  MPI_Type_set_attr(from, other_key, &value);
  CHECK(MPI_Type_dup(from, &to) == MPI_SUCCESS);
  MPI_Type_get_attr(to, other_key, &got, &flag);
  CHECK(flag == 0);
  MPI_Type_free(&to);
  MPI_Type_free(&from);
  MPI_Type_free_keyval(&mean);
  MPI_Type_free_keyval(&other_key);
}

// A delete function that deletes its own attribute again, frees the communicator, sets another.
int delete_again(MPI_Comm comm, int key, void*, void* value) {
  ++deleted;
  CHECK(MPI_Comm_delete_attr(comm, key) != MPI_SUCCESS);
  CHECK(MPI_Comm_set_attr(comm, key, value) != MPI_SUCCESS);
  MPI_Comm again = comm;
  CHECK(MPI_Comm_free(&again) != MPI_SUCCESS);
  MPI_Comm_free_keyval(&own_key);
  return MPI_SUCCESS;
}
void deletes() {
  int value = 5;
  MPI_Comm comm;
  for (const bool with_comm : {false, true}) {
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_create_keyval(copy_it, delete_again, &own_key, nullptr);
    MPI_Comm_set_attr(comm, own_key, &value);
    deleted = 0;
    if (!with_comm) CHECK(MPI_Comm_delete_attr(comm, own_key) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
    CHECK(deleted == 1);
  }
}

// A delete function that frees its key, called because another value takes the old one's place.
int free_key(MPI_Comm, int, void*, void*) {
  ++deleted;
  if (own_key != MPI_KEYVAL_INVALID) MPI_Comm_free_keyval(&own_key);
  return MPI_SUCCESS;
}
int free_key_of_type(MPI_Datatype, int, void*, void*) {
  ++deleted;
  if (own_key != MPI_KEYVAL_INVALID) MPI_Type_free_keyval(&own_key);
  return MPI_SUCCESS;
}
void replaces() {
  int value = 5, other = 6, flag = 0;
  void* got = nullptr;
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  MPI_Comm_create_keyval(copy_it, free_key, &own_key, nullptr);
  int key = own_key;
  MPI_Comm_set_attr(comm, key, &value);
  deleted = 0;
  CHECK(MPI_Comm_set_attr(comm, key, &other) == MPI_SUCCESS);
  CHECK(MPI_Comm_get_attr(comm, key, &got, &flag) == MPI_SUCCESS && flag != 0 && got == &other);
  CHECK(deleted == 1 && own_key == MPI_KEYVAL_INVALID);
  MPI_Comm_free(&comm);
  CHECK(deleted == 2);

  MPI_Datatype type;
  MPI_Type_contiguous(2, MPI_INT, &type);
  MPI_Type_create_keyval(MPI_TYPE_DUP_FN, free_key_of_type, &own_key, nullptr);
  key = own_key;
  MPI_Type_set_attr(type, key, &value);
  CHECK(MPI_Type_set_attr(type, key, &other) == MPI_SUCCESS);
  CHECK(MPI_Type_get_attr(type, key, &got, &flag) == MPI_SUCCESS && flag != 0 && got == &other);
  MPI_Type_free(&type);
  CHECK(deleted == 4);
}

}  // namespace

int main() {
  begin();
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  copies();
  copies_that_fail();
  copies_of_types();
  deletes();
  replaces();
  return done();
}
