// Groups, info objects, names and attributes: what needs no message.
#include <algorithm>
#include <cstring>

#include "check.h"

using namespace ranks;

namespace {

std::vector<int> ranks_of(MPI_Group group) {
  MPI_Group world;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  int n = 0;
  MPI_Group_size(group, &n);
  std::vector<int> own, global(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) own.push_back(i);
  MPI_Group_translate_ranks(group, n, own.data(), world, global.data());
  MPI_Group_free(&world);
  return global;
}

MPI_Group group_of(const std::vector<int>& ranks) {
  MPI_Group world, group;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, static_cast<int>(ranks.size()), ranks.data(), &group);
  MPI_Group_free(&world);
  return group;
}

void sets() {
  std::vector<int> evens, low;
  for (int r = 0; r < size; ++r) {
    if (r % 2 == 0) evens.push_back(r);
    if (r < size / 2) low.push_back(r);
  }
  MPI_Group a = group_of(evens), b = group_of(low), c;
  MPI_Group_union(a, b, &c);
  std::vector<int> wanted = evens;
  for (int r : low)
    if (r % 2 == 1) wanted.push_back(r);
  CHECK(ranks_of(c) == wanted);
  MPI_Group_free(&c);
  MPI_Group_intersection(a, b, &c);
  wanted.clear();
  for (int r : evens)
    if (r < size / 2) wanted.push_back(r);
  CHECK(ranks_of(c) == wanted);
  CHECK((c == MPI_GROUP_EMPTY) == wanted.empty());
  MPI_Group_free(&c);
  MPI_Group_difference(a, b, &c);
  wanted.clear();
  for (int r : evens)
    if (r >= size / 2) wanted.push_back(r);
  CHECK(ranks_of(c) == wanted);
  MPI_Group_free(&c);
  int result = -1;
  MPI_Group_compare(a, a, &result);
  CHECK(result == MPI_IDENT);
  std::reverse(evens.begin(), evens.end());
  c = group_of(evens);
  MPI_Group_compare(a, c, &result);
  CHECK(result == (size > 2 ? MPI_SIMILAR : MPI_IDENT));
  MPI_Group_free(&a);
  MPI_Group_free(&b);
  MPI_Group_free(&c);
}

void ranges() {
  MPI_Group world, group;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  int down[1][3] = {{size - 1, 0, -1}};
  MPI_Group_range_incl(world, 1, down, &group);
  std::vector<int> wanted;
  for (int r = size - 1; r >= 0; --r) wanted.push_back(r);
  CHECK(ranks_of(group) == wanted);
  int own = -1;
  MPI_Group_rank(group, &own);
  CHECK(own == size - 1 - rank);
  MPI_Group_free(&group);
  int first[1][3] = {{0, size - 1, 2}};
  MPI_Group_range_excl(world, 1, first, &group);
  MPI_Group_rank(group, &own);
  CHECK(own == (rank % 2 == 1 ? rank / 2 : MPI_UNDEFINED));
  MPI_Group_free(&group);
  MPI_Group_free(&world);
}

int copies = 0, deletes = 0;
int copy_value(MPI_Comm, int, void* extra, void* in, void* out, int* flag) {
  ++copies;
  CHECK(extra == &copies);
  std::memcpy(out, &in, sizeof in);
  *flag = 1;
  return MPI_SUCCESS;
}
int delete_value(MPI_Comm, int, void* value, void*) {
  ++deletes;
  CHECK(value == &deletes);
  return MPI_SUCCESS;
}

void attributes() {
  int copied, kept, flag = 0;
  void* got = nullptr;
  MPI_Comm_create_keyval(copy_value, delete_value, &copied, &copies);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &kept, nullptr);
  MPI_Comm one, two;
  MPI_Comm_dup(MPI_COMM_SELF, &one);
  MPI_Comm_get_attr(one, copied, &got, &flag);
  CHECK(flag == 0);
  MPI_Comm_set_attr(one, copied, &deletes);
  MPI_Comm_set_attr(one, kept, &copies);
  MPI_Comm_dup(one, &two);
  CHECK(copies == 1);
  MPI_Comm_get_attr(two, copied, &got, &flag);
  CHECK(flag != 0 && got == &deletes);
  MPI_Comm_get_attr(two, kept, &got, &flag);
  CHECK(flag == 0);
  const int key = copied;
  MPI_Comm_free_keyval(&copied);
  CHECK(copied == MPI_KEYVAL_INVALID);
  MPI_Comm_get_attr(one, key, &got, &flag);  // still there under the old number
  CHECK(flag != 0);
  MPI_Comm_delete_attr(one, key);
  CHECK(deletes == 1);
  MPI_Comm_free(&two);
  CHECK(deletes == 2);
  MPI_Comm_free(&one);
  MPI_Comm_free_keyval(&kept);
}

void predefined_attributes() {
  int *value = nullptr, flag = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag);
  CHECK(flag != 0 && *value >= 32767);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &value, &flag);
  CHECK(flag == 0 || *value >= size);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &value, &flag);
  CHECK(flag != 0);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &value, &flag);
  CHECK(flag == 0 || *value >= 0);
}

void names() {
  char name[MPI_MAX_OBJECT_NAME];
  int length = 0;
  MPI_Comm_get_name(MPI_COMM_WORLD, name, &length);
  CHECK(std::string(name) == "MPI_COMM_WORLD" && length == 14);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_get_name(comm, name, &length);
  CHECK(length == 0);
  MPI_Comm_set_name(comm, "kettle");
  MPI_Comm_get_name(comm, name, &length);
  CHECK(std::string(name) == "kettle");
  MPI_Comm_free(&comm);
  MPI_Type_get_name(MPI_DOUBLE, name, &length);
  CHECK(std::string(name) == "MPI_DOUBLE");
}

void infos() {
  MPI_Info info, copy;
  MPI_Info_create(&info);
  MPI_Info_set(info, "colour", "blue");
  MPI_Info_set(info, "size", "12");
  MPI_Info_set(info, "colour", "red");
  int n = 0, flag = 0, room = 3;
  MPI_Info_get_nkeys(info, &n);
  CHECK(n == 2);
  char key[MPI_MAX_INFO_KEY], value[16];
  MPI_Info_get_nthkey(info, 1, key);
  CHECK(std::string(key) == "size");
  MPI_Info_get_string(info, "colour", &room, value, &flag);
  CHECK(flag != 0 && std::string(value) == "re" && room == 4);
  MPI_Info_dup(info, &copy);
  MPI_Info_delete(info, "colour");
  room = 16;
  MPI_Info_get_string(info, "colour", &room, value, &flag);
  CHECK(flag == 0);
  MPI_Info_get_string(copy, "colour", &room, value, &flag);
  CHECK(flag != 0 && std::string(value) == "red");
  MPI_Info_free(&info);
  MPI_Info_free(&copy);
  CHECK(info == MPI_INFO_NULL);
}

void environment() {
  int version = 0, subversion = -1, length = 0, flag = 0;
  MPI_Get_version(&version, &subversion);
  CHECK(version == 5 && subversion == 0);
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  MPI_Get_library_version(text, &length);
  CHECK(std::strncmp(text, "Tutti", 5) == 0);
  MPI_Initialized(&flag);
  CHECK(flag != 0);
  MPI_Finalized(&flag);
  CHECK(flag == 0);
  MPI_Is_thread_main(&flag);
  CHECK(flag != 0);
  const double before = MPI_Wtime();
  CHECK(MPI_Wtime() >= before && MPI_Wtick() > 0 && MPI_Wtick() < 1e-3);
  void* memory = nullptr;
  MPI_Alloc_mem(1000, MPI_INFO_NULL, &memory);
  std::memset(memory, 1, 1000);
  MPI_Free_mem(memory);
}

void numbers() {
  CHECK(MPI_Comm_toint(MPI_COMM_WORLD) == 257);
  CHECK(MPI_Type_fromint(MPI_Type_toint(MPI_DOUBLE)) == MPI_DOUBLE);
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_SELF, &comm);
  const int number = MPI_Comm_toint(comm);
  CHECK(number >= 0x400 && MPI_Comm_toint(comm) == number);
  CHECK(MPI_Comm_fromint(number) == comm);
  MPI_Comm_free(&comm);
  int major = 0, minor = -1;
  MPI_Abi_get_version(&major, &minor);
  CHECK(major == 1 && minor == 0);
}

int finalizers = 0;
int at_the_end(MPI_Comm, int, void*, void*) {
  int ended = 1;
  MPI_Finalized(&ended);
  CHECK(ended == 0 && ++finalizers == 1);
  return MPI_SUCCESS;
}

}  // namespace

int main() {
  int flag = 1;
  MPI_Initialized(&flag);
  CHECK(flag == 0);
  begin();
  sets();
  ranges();
  attributes();
  predefined_attributes();
  names();
  infos();
  environment();
  numbers();
  int key;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_the_end, &key, nullptr);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr);
  MPI_Finalize();
  MPI_Finalized(&flag);
  CHECK(flag != 0 && finalizers == 1);
  return failures == 0 ? 0 : 1;
}
