// Chapter 9: error handlers on communicators, sessions and files; classes, codes and strings.
#include "bodies.h"
#include "mpi/checks.h"
#include "mpi/convert.h"
#include "mpi/errors.h"
#include "mpi/trouble.h"

namespace tutti::mpi::body {
namespace {

Code give_errhandler(Ref<Errhandler> handler, MPI_Errhandler* errhandler) {
  *errhandler = handle_to(handler.hand_out(), MPI_ERRHANDLER_NULL);
  return Code::ok;
}

Code create(ObjectKind kind, Errhandler::Function function, MPI_Errhandler* errhandler) {
  if (function == nullptr) return refuse(Code::arg, "the function is null");
  return give_errhandler(Errhandler::user(kind, function), errhandler);
}

// Predefined ones serve all kinds.
bool may_serve(const Errhandler& errhandler, ObjectKind kind) {
  return errhandler.action != Errhandler::Action::user || errhandler.serves == kind;
}

}  // namespace

Code comm_create_errhandler(MPI_Comm_errhandler_function* comm_errhandler_fn,
                            MPI_Errhandler* errhandler) {
  return create(ObjectKind::comm, comm_errhandler_fn, errhandler);
}

Code comm_set_errhandler(comm::Communicator& comm, Errhandler& errhandler) {
  if (!may_serve(errhandler, ObjectKind::comm))
    return refuse(Code::errhandler, "the error handler was not made for communicators");
  set_errhandler(comm, &errhandler);
  return Code::ok;
}

Code comm_get_errhandler(comm::Communicator& comm, MPI_Errhandler* errhandler) {
  return give_errhandler(Ref<Errhandler>::share(errhandler_on(comm)), errhandler);
}

Code comm_call_errhandler(comm::Communicator& comm, int errorcode) {
  raise("MPI_Comm_call_errhandler", errorcode, &comm, {});
  return Code::ok;
}

Code session_create_errhandler(MPI_Session_errhandler_function* session_errhandler_fn,
                               MPI_Errhandler* errhandler) {
  return create(ObjectKind::session, reinterpret_cast<Errhandler::Function>(session_errhandler_fn),
                errhandler);
}

Code session_set_errhandler(Session& session, Errhandler& errhandler) {
  if (!may_serve(errhandler, ObjectKind::session))
    return refuse(Code::errhandler, "the error handler was not made for sessions");
  attach(session.errhandler, &errhandler);
  return Code::ok;
}

Code session_get_errhandler(Session& session, MPI_Errhandler* errhandler) {
  return give_errhandler(Ref<Errhandler>::share(errhandler_at(session.errhandler)), errhandler);
}

Code session_call_errhandler(Session& session, int errorcode) {
  raise_on(session, "MPI_Session_call_errhandler", errorcode, {});
  return Code::ok;
}

Code file_create_errhandler(MPI_File_errhandler_function* file_errhandler_fn,
                            MPI_Errhandler* errhandler) {
  return create(ObjectKind::file, reinterpret_cast<Errhandler::Function>(file_errhandler_fn),
                errhandler);
}

// No file is open yet, so the handle is MPI_FILE_NULL, whose handler is that of files to come.
Code file_set_errhandler(Object* /*file*/, Errhandler& errhandler) {
  if (!may_serve(errhandler, ObjectKind::file))
    return refuse(Code::errhandler, "the error handler was not made for files");
  set_file_errhandler(errhandler);
  return Code::ok;
}

Code file_get_errhandler(Object* /*file*/, MPI_Errhandler* errhandler) {
  return give_errhandler(Ref<Errhandler>::share(file_errhandler()), errhandler);
}

Code file_call_errhandler(Object* /*file*/, int errorcode) {
  raise_by(*file_errhandler(), "MPI_File_call_errhandler", errorcode, {});
  return Code::ok;
}

Code errhandler_free(MPI_Errhandler* errhandler) {
  const Errhandler* const handler = errhandler_of(*errhandler);
  if (handler == nullptr || (!handler->is_predefined() && !handler->take_back()))
    return refuse_to_free(Code::errhandler, "error handler", "errhandler", bits_of(*errhandler),
                          handler);
  // A predefined one is only forgotten: get_errhandler handed out a reference to it.
  if (!handler->is_predefined()) handler->release();
  *errhandler = MPI_ERRHANDLER_NULL;
  return Code::ok;
}

Code error_class(int errorcode, int* errorclass) {
  const auto found = class_of(errorcode);
  if (!found) return refuse(Code::arg, std::to_string(errorcode) + " is not an error code");
  *errorclass = *found;
  return Code::ok;
}

Code error_string(int errorcode, char* string, int* resultlen) {
  if (!class_of(errorcode))
    return refuse(Code::arg, std::to_string(errorcode) + " is not an error code");
  *resultlen = put_text(describe(errorcode), string, MPI_MAX_ERROR_STRING);
  return Code::ok;
}

Code add_error_class(int* errorclass) {
  *errorclass = add_class();
  return Code::ok;
}

Code add_error_code(int errorclass, int* errorcode) {
  const auto code = add_code(errorclass);
  if (!code) return refuse(Code::arg, std::to_string(errorclass) + " is not an error class");
  *errorcode = *code;
  return Code::ok;
}

Code add_error_string(int errorcode, const char* string) {
  if (set_string(errorcode, string) == Code::ok) return Code::ok;
  return refuse(Code::arg, std::to_string(errorcode) + " was not added by the user");
}

Code remove_error_class(int errorclass) {
  if (remove_code(errorclass, true)) return Code::ok;
  return refuse(Code::arg,
                std::to_string(errorclass) + " is no class of the user's without codes and string");
}

Code remove_error_code(int errorcode) {
  if (remove_code(errorcode, false)) return Code::ok;
  return refuse(Code::arg,
                std::to_string(errorcode) + " is no code of the user's without a string");
}

Code remove_error_string(int errorcode) {
  if (set_string(errorcode, nullptr) == Code::ok) return Code::ok;
  return refuse(Code::arg, std::to_string(errorcode) + " was not added by the user");
}

}  // namespace tutti::mpi::body
