// What hangs on objects: attributes, names, info, error handlers, integers for handles; and
// requests that the program completes itself.
#include <cstdint>
#include <cstring>
#include <string>

#include "everywhere.h"

namespace everywhere {
namespace {

int copy_value(MPI_Comm, int, void*, void* in, void* out, int* flag) {
  *static_cast<void**>(out) = in;
  *flag = 1;
  return MPI_SUCCESS;
}

void attributes(const Mine& my) {
  int key = MPI_KEYVAL_INVALID, flag = 0;
  auto stored = reinterpret_cast<void*>(static_cast<std::intptr_t>(my.thread + 1));
  void* got = nullptr;
  MPI_Comm copy;
  MPI_Comm_create_keyval(copy_value, MPI_COMM_NULL_DELETE_FN, &key, nullptr);
  MPI_Comm_set_attr(my.comm, key, stored);
  MPI_Comm_dup(my.comm, &copy);
  MPI_Comm_get_attr(copy, key, &got, &flag);
  CHECK(flag == 1 && got == stored);
  MPI_Comm_free(&copy);
  MPI_Comm_delete_attr(my.comm, key);
  MPI_Comm_free_keyval(&key);
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &got, &flag);
  CHECK(flag == 1);
  MPI_Keyval_create(MPI_NULL_COPY_FN, MPI_NULL_DELETE_FN, &key, nullptr);
  MPI_Attr_put(my.comm, key, stored);
  MPI_Attr_get(my.comm, key, &got, &flag);
  CHECK(flag == 1 && got == stored);
  MPI_Attr_delete(my.comm, key);
  MPI_Keyval_free(&key);
  MPI_Datatype type;
  MPI_Type_dup(MPI_INT, &type);
  MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &key, nullptr);
  MPI_Type_set_attr(type, key, stored);
  MPI_Type_get_attr(type, key, &got, &flag);
  CHECK(flag == 1 && got == stored);
  MPI_Type_delete_attr(type, key);
  MPI_Type_free_keyval(&key);
  MPI_Type_free(&type);
}

void names(const Mine& my) {
  char name[MPI_MAX_OBJECT_NAME];
  int length = 0;
  const std::string wanted = "of thread " + std::to_string(my.thread);
  MPI_Comm_set_name(my.comm, wanted.c_str());
  MPI_Comm_get_name(my.comm, name, &length);
  CHECK(name == wanted);
  MPI_Comm_get_name(MPI_COMM_WORLD, name, &length);
  MPI_Datatype type;
  MPI_Type_contiguous(3, MPI_INT, &type);
  MPI_Type_set_name(type, wanted.c_str());
  MPI_Type_get_name(type, name, &length);
  CHECK(name == wanted);
  MPI_Type_free(&type);
}

void infos(const Mine&) {
  MPI_Info info, copy, said;
  char value[64], key[MPI_MAX_INFO_KEY];
  int flag = 0, number = 0, length = sizeof value;
  MPI_Info_create(&info);
  MPI_Info_set(info, "key", "value");
  MPI_Info_dup(info, &copy);
  MPI_Info_get_nkeys(copy, &number);
  MPI_Info_get_nthkey(copy, 0, key);
  MPI_Info_get_string(copy, "key", &length, value, &flag);
  CHECK(number == 1 && flag == 1 && std::strcmp(value, "value") == 0);
  MPI_Info_get(copy, "key", 63, value, &flag);
  MPI_Info_get_valuelen(copy, "key", &length, &flag);
  CHECK(flag == 1 && length == 5);
  MPI_Info_delete(copy, "key");
  MPI_Info_create_env(0, nullptr, &said);
  for (MPI_Info* each : {&info, &copy, &said}) MPI_Info_free(each);
}

thread_local int told = 0;
void listen(MPI_Comm*, int*, ...) {
  ++told;
}
void listen_for_session(MPI_Session*, int*, ...) {}
void listen_for_file(MPI_File*, int*, ...) {}

// All threads set the one handler that there is, as it is.
void errors_on_files() {
  MPI_Errhandler handler, there;
  MPI_File_create_errhandler(listen_for_file, &handler);
  MPI_File_get_errhandler(MPI_FILE_NULL, &there);
  MPI_File_set_errhandler(MPI_FILE_NULL, there);
  MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_OTHER);
  CHECK(there == MPI_ERRORS_RETURN);
  MPI_Errhandler_free(&there);
  MPI_Errhandler_free(&handler);
}

void errors(const Mine& my) {
  MPI_Errhandler handler, before;
  MPI_Comm_get_errhandler(my.comm, &before);
  MPI_Comm_create_errhandler(listen, &handler);
  MPI_Comm_set_errhandler(my.comm, handler);
  told = 0;
  MPI_Comm_call_errhandler(my.comm, MPI_ERR_OTHER);
  CHECK(MPI_Send(nullptr, -1, MPI_INT, 0, 0, my.comm) != MPI_SUCCESS && told == 2);
  MPI_Comm_set_errhandler(my.comm, before);
  MPI_Errhandler_free(&handler);
  MPI_Errhandler_free(&before);
  MPI_Session_create_errhandler(listen_for_session, &handler);
  MPI_Errhandler_free(&handler);
  errors_on_files();
  int own = 0, code = 0, length = 0, kind = 0;
  char text[MPI_MAX_ERROR_STRING];
  MPI_Add_error_class(&own);
  MPI_Add_error_code(own, &code);
  MPI_Add_error_string(code, "too thready");
  MPI_Error_string(code, text, &length);
  MPI_Error_class(code, &kind);
  CHECK(std::strcmp(text, "too thready") == 0 && kind == own);
  MPI_Remove_error_string(code);
  MPI_Remove_error_code(code);
  MPI_Remove_error_class(own);
}

int nothing_to_say(void*, MPI_Status* status) {
  MPI_Status_set_elements(status, MPI_INT, 2);
  MPI_Status_set_elements_x(status, MPI_INT, 2);
  MPI_Status_set_cancelled(status, 0);
  MPI_Status_set_source(status, 1);
  MPI_Status_set_tag(status, 2);
  MPI_Status_set_error(status, MPI_SUCCESS);
  return MPI_SUCCESS;
}
int nothing_to_free(void*) {
  return MPI_SUCCESS;
}
int never_cancelled(void*, int) {
  return MPI_SUCCESS;
}

void generalized(const Mine&) {
  MPI_Request request;
  MPI_Status status;
  MPI_Grequest_start(nothing_to_say, nothing_to_free, never_cancelled, nullptr, &request);
  std::thread helper([request] { MPI_Grequest_complete(request); });
  MPI_Wait(&request, &status);
  helper.join();
  int elements = 0;
  MPI_Get_elements(&status, MPI_INT, &elements);
  CHECK(elements == 2 && status.MPI_TAG == 2);
}

void integers(const Mine& my) {
  MPI_Group group;
  MPI_Info info;
  MPI_Op op;
  MPI_Session session;
  MPI_Request request;
  MPI_Comm_group(my.comm, &group);
  MPI_Info_create(&info);
  MPI_Op_create([](void*, void*, int*, MPI_Datatype*) {}, 1, &op);
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  int word = 0;
  MPI_Irecv(&word, 1, MPI_INT, MPI_PROC_NULL, 0, my.comm, &request);
  CHECK(MPI_Comm_fromint(MPI_Comm_toint(my.comm)) == my.comm);
  CHECK(MPI_Group_fromint(MPI_Group_toint(group)) == group);
  CHECK(MPI_Info_fromint(MPI_Info_toint(info)) == info);
  CHECK(MPI_Op_fromint(MPI_Op_toint(op)) == op);
  CHECK(MPI_Session_fromint(MPI_Session_toint(session)) == session);
  CHECK(MPI_Request_fromint(MPI_Request_toint(request)) == request);
  CHECK(MPI_Type_fromint(MPI_Type_toint(MPI_INT)) == MPI_INT);
  CHECK(MPI_Errhandler_fromint(MPI_Errhandler_toint(MPI_ERRORS_RETURN)) == MPI_ERRORS_RETURN);
  CHECK(MPI_Message_fromint(MPI_Message_toint(MPI_MESSAGE_NULL)) == MPI_MESSAGE_NULL);
  CHECK(MPI_Win_fromint(MPI_Win_toint(MPI_WIN_NULL)) == MPI_WIN_NULL);
  CHECK(MPI_File_fromint(MPI_File_toint(MPI_FILE_NULL)) == MPI_FILE_NULL);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Session_finalize(&session);
  MPI_Op_free(&op);
  MPI_Info_free(&info);
  MPI_Group_free(&group);
}

constexpr std::array<Family, 6> kFamilies{attributes, names, infos, errors, generalized, integers};

}  // namespace

std::span<const Family> objects() {
  return kFamilies;
}

}  // namespace everywhere
