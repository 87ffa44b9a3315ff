// Error classes, codes and strings, and raising an error through a handler.
#pragma once

#include <optional>
#include <string>

#include "mpi/objects.h"
#include "mpi/trouble.h"

namespace tutti::mpi {

// One line for a class or code, predefined or added by the user; empty when unknown.
std::string describe(int code);
// The name of a predefined class such as MPI_ERR_RANK; empty for others.
const char* class_name(int code);
// A call that failed because a rank is lost says which one and why; so does one that has no other
// words, since a rank cannot be reached. Else empty.
std::string loss_behind(int code, const Trouble& why);

// The user's own classes and codes (MPI 5.0, 9.5). Numbers follow MPI_ERR_LASTCODE.
int add_class();
std::optional<int> add_code(int error_class);  // empty: no such class
Code set_string(int code, const char* text);   // null: removes it
// False: not one of the user's, or in use: it has a string, or the class has codes.
bool remove_code(int code, bool is_class);
std::optional<int> class_of(int code);
int* last_used_code();  // the value of MPI_LASTUSEDCODE

// Does what the handler of `comm` (null: see fallback_comm()) says and returns the code. Of `why`
// the words and the kind count.
int raise(const char* function, int code, comm::Communicator* comm, const Trouble& why);

int raise_on(Session& session, const char* function, int code, const Trouble& why);

// The same by a handler of no object: one given for what the call makes, or that of files.
int raise_by(Errhandler& handler, const char* function, int code, const Trouble& why);

// Of the exception that is being handled: notes in words what the library lacked, memory or else,
// and gives the code. A callback's goes on to the program, whatever it is (callback.h).
[[gnu::cold]] Code thrown();

// The error handler attached to a communicator or session; never null.
Errhandler* errhandler_at(const Ref<Object>& attached);
inline Errhandler* errhandler_on(comm::Communicator& comm) {
  return errhandler_at(comm.errhandler);
}
// Of errors on no open file, and of files to be opened (MPI 5.0, 14.7): MPI_FILE_NULL's, which
// returns until the program sets another.
Errhandler* file_errhandler();
void set_file_errhandler(Errhandler& handler);
// Attaches one (counted) or, with null, goes back to the default.
inline void attach(Ref<Object>& place, Errhandler* handler) {
  place = Ref<Object>::share(handler);
}
void set_errhandler(comm::Communicator& comm, Errhandler* handler);

}  // namespace tutti::mpi
