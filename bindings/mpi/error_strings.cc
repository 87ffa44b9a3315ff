// What each error class means, and the classes, codes and strings users add.
#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>

#include "mpi/errors.h"

namespace tutti::mpi {
namespace {

struct ErrorRow {
  int code;
  const char* name;
  const char* meaning;
};
#define TUTTI_ROW(name, meaning) \
  { name, #name, meaning }
constexpr ErrorRow kRows[] = {
    TUTTI_ROW(MPI_SUCCESS, "no error"),
    TUTTI_ROW(MPI_ERR_BUFFER, "the buffer address is not valid"),
    TUTTI_ROW(MPI_ERR_COUNT, "the count is not valid"),
    TUTTI_ROW(MPI_ERR_TYPE, "the datatype is not valid or not committed"),
    TUTTI_ROW(MPI_ERR_TAG, "the tag is out of range"),
    TUTTI_ROW(MPI_ERR_COMM, "the communicator is not valid"),
    TUTTI_ROW(MPI_ERR_RANK, "the rank is not in the communicator"),
    TUTTI_ROW(MPI_ERR_REQUEST, "the request is not valid"),
    TUTTI_ROW(MPI_ERR_ROOT, "the root is not in the communicator"),
    TUTTI_ROW(MPI_ERR_GROUP, "the group is not valid"),
    TUTTI_ROW(MPI_ERR_OP, "the operation is not valid or not defined on the datatype"),
    TUTTI_ROW(MPI_ERR_TOPOLOGY, "the communicator has no such topology"),
    TUTTI_ROW(MPI_ERR_DIMS, "the dimensions are not valid"),
    TUTTI_ROW(MPI_ERR_ARG, "an argument is not valid"),
    TUTTI_ROW(MPI_ERR_UNKNOWN, "unknown error"),
    TUTTI_ROW(MPI_ERR_TRUNCATE, "the message is longer than the receive buffer"),
    TUTTI_ROW(MPI_ERR_OTHER, "an error outside the other classes"),
    TUTTI_ROW(MPI_ERR_INTERN, "an error inside the library"),
    TUTTI_ROW(MPI_ERR_PENDING, "the operation is neither complete nor failed"),
    TUTTI_ROW(MPI_ERR_IN_STATUS, "the error is in the status of the request"),
    TUTTI_ROW(MPI_ERR_ACCESS, "permission denied"),
    TUTTI_ROW(MPI_ERR_AMODE, "the access mode is not valid"),
    TUTTI_ROW(MPI_ERR_ASSERT, "the assertion is not valid"),
    TUTTI_ROW(MPI_ERR_BAD_FILE, "the file name is not valid"),
    TUTTI_ROW(MPI_ERR_BASE, "the base address is not valid"),
    TUTTI_ROW(MPI_ERR_CONVERSION, "a data conversion function failed"),
    TUTTI_ROW(MPI_ERR_DISP, "the displacement is not valid"),
    TUTTI_ROW(MPI_ERR_DUP_DATAREP, "the data representation is defined already"),
    TUTTI_ROW(MPI_ERR_FILE_EXISTS, "the file exists"),
    TUTTI_ROW(MPI_ERR_FILE_IN_USE, "the file is open elsewhere"),
    TUTTI_ROW(MPI_ERR_FILE, "the file handle is not valid"),
    TUTTI_ROW(MPI_ERR_INFO_KEY, "the info key is empty or too long"),
    TUTTI_ROW(MPI_ERR_INFO_NOKEY, "the info object has no such key"),
    TUTTI_ROW(MPI_ERR_INFO_VALUE, "the info value is empty or too long"),
    TUTTI_ROW(MPI_ERR_INFO, "the info object is not valid"),
    TUTTI_ROW(MPI_ERR_IO, "input or output failed"),
    TUTTI_ROW(MPI_ERR_KEYVAL, "the attribute key is not valid"),
    TUTTI_ROW(MPI_ERR_LOCKTYPE, "the lock type is not valid"),
    TUTTI_ROW(MPI_ERR_NAME, "the service name is not published"),
    TUTTI_ROW(MPI_ERR_NO_MEM, "memory is exhausted"),
    TUTTI_ROW(MPI_ERR_NOT_SAME, "an argument differs between the ranks"),
    TUTTI_ROW(MPI_ERR_NO_SPACE, "the disk is full"),
    TUTTI_ROW(MPI_ERR_NO_SUCH_FILE, "the file does not exist"),
    TUTTI_ROW(MPI_ERR_PORT, "the port name is not valid"),
    TUTTI_ROW(MPI_ERR_QUOTA, "the quota is used up"),
    TUTTI_ROW(MPI_ERR_READ_ONLY, "the file or file system is read-only"),
    TUTTI_ROW(MPI_ERR_RMA_ATTACH, "the memory cannot be attached"),
    TUTTI_ROW(MPI_ERR_RMA_CONFLICT, "accesses to a window conflict"),
    TUTTI_ROW(MPI_ERR_RMA_RANGE, "the target memory is outside the window"),
    TUTTI_ROW(MPI_ERR_RMA_SHARED, "the memory cannot be shared"),
    TUTTI_ROW(MPI_ERR_RMA_SYNC, "wrong synchronisation of a window"),
    TUTTI_ROW(MPI_ERR_SERVICE, "the service name cannot be removed"),
    TUTTI_ROW(MPI_ERR_SIZE, "the window size is not valid"),
    TUTTI_ROW(MPI_ERR_SPAWN, "processes could not be started"),
    TUTTI_ROW(MPI_ERR_UNSUPPORTED_DATAREP, "the data representation is not supported"),
    TUTTI_ROW(MPI_ERR_UNSUPPORTED_OPERATION,
              "Tutti does not have this call, or not on this machine"),
    TUTTI_ROW(MPI_ERR_WIN, "the window is not valid"),
    TUTTI_ROW(MPI_ERR_RMA_FLAVOR, "the window has the wrong flavour"),
    TUTTI_ROW(MPI_ERR_PROC_ABORTED, "a process of the job has ended"),
    TUTTI_ROW(MPI_ERR_VALUE_TOO_LARGE, "the value does not fit its type"),
    TUTTI_ROW(MPI_ERR_SESSION, "the session is not valid"),
    TUTTI_ROW(MPI_ERR_ERRHANDLER, "the error handler is not valid"),
    TUTTI_ROW(MPI_ERR_ABI, "the ABI does not serve this"),
    TUTTI_ROW(MPI_T_ERR_CANNOT_INIT, "the tools interface cannot be initialised"),
    TUTTI_ROW(MPI_T_ERR_NOT_ACCESSIBLE, "the interface is not accessible"),
    TUTTI_ROW(MPI_T_ERR_NOT_INITIALIZED, "the tools interface is not initialised"),
    TUTTI_ROW(MPI_T_ERR_NOT_SUPPORTED, "the tools interface does not support this"),
    TUTTI_ROW(MPI_T_ERR_MEMORY, "memory is exhausted"),
    TUTTI_ROW(MPI_T_ERR_INVALID, "an argument is not valid"),
    TUTTI_ROW(MPI_T_ERR_INVALID_INDEX, "the index is not valid"),
    TUTTI_ROW(MPI_T_ERR_INVALID_ITEM, "the item index is out of range"),
    TUTTI_ROW(MPI_T_ERR_INVALID_SESSION, "the session is not valid"),
    TUTTI_ROW(MPI_T_ERR_INVALID_HANDLE, "the handle is not valid"),
    TUTTI_ROW(MPI_T_ERR_INVALID_NAME, "the name is not known"),
    TUTTI_ROW(MPI_T_ERR_OUT_OF_HANDLES, "no more handles"),
    TUTTI_ROW(MPI_T_ERR_OUT_OF_SESSIONS, "no more sessions"),
    TUTTI_ROW(MPI_T_ERR_CVAR_SET_NOT_NOW, "the variable cannot be set now"),
    TUTTI_ROW(MPI_T_ERR_CVAR_SET_NEVER, "the variable cannot be set"),
    TUTTI_ROW(MPI_T_ERR_PVAR_NO_WRITE, "the variable cannot be written"),
    TUTTI_ROW(MPI_T_ERR_PVAR_NO_STARTSTOP, "the variable cannot be started or stopped"),
    TUTTI_ROW(MPI_T_ERR_PVAR_NO_ATOMIC, "the variable cannot be read and reset at once"),
};
#undef TUTTI_ROW

const ErrorRow* row_of(int code) {
  const auto* found = std::find_if(std::begin(kRows), std::end(kRows),
                                   [code](const ErrorRow& row) { return row.code == code; });
  return found == std::end(kRows) ? nullptr : found;
}

// One user's class (its own class) or code (of some class).
struct Added {
  int error_class;
  std::string text;
  bool has_text = false;
};
// The lock makes these calls right before MPI_Init and without the gate.
struct Book {
  std::mutex lock;
  std::map<int, Added> added;
  int last = MPI_ERR_LASTCODE;
};
Book& book() {
  static auto& the_book = *new Book;  // kept: see process.h
  return the_book;
}

int add(int error_class) {
  Book& all = book();
  const int code = all.added.empty() ? MPI_ERR_LASTCODE + 1 : all.added.rbegin()->first + 1;
  all.added[code].error_class = error_class == 0 ? code : error_class;
  all.last = std::max(all.last, code);
  return code;
}

}  // namespace

const char* class_name(int code) {
  const ErrorRow* row = row_of(code);
  return row == nullptr ? "" : row->name;
}

std::string describe(int code) {
  if (const ErrorRow* row = row_of(code)) return std::string(row->name) + ": " + row->meaning;
  const std::scoped_lock hold(book().lock);
  const auto found = book().added.find(code);
  return found == book().added.end() ? std::string() : found->second.text;
}

int add_class() {
  const std::scoped_lock hold(book().lock);
  return add(0);
}

std::optional<int> add_code(int error_class) {
  const std::scoped_lock hold(book().lock);
  const auto found = book().added.find(error_class);
  const bool own = found != book().added.end() && found->second.error_class == error_class;
  if (!own && row_of(error_class) == nullptr) return std::nullopt;
  return add(error_class);
}

Code set_string(int code, const char* text) {
  const std::scoped_lock hold(book().lock);
  const auto found = book().added.find(code);
  if (found == book().added.end()) return Code::arg;
  found->second.has_text = text != nullptr;
  found->second.text = text == nullptr ? "" : std::string(text).substr(0, MPI_MAX_ERROR_STRING - 1);
  return Code::ok;
}

bool remove_code(int code, bool is_class) {
  const std::scoped_lock hold(book().lock);
  auto& added = book().added;
  const auto found = added.find(code);
  if (found == added.end() || (found->second.error_class == code) != is_class) return false;
  const auto uses = std::count_if(added.begin(), added.end(), [code](const auto& entry) {
    return entry.second.error_class == code;
  });
  if ((is_class && uses > 1) || found->second.has_text) return false;
  added.erase(found);
  return true;
}

std::optional<int> class_of(int code) {
  if (row_of(code) != nullptr || code == MPI_ERR_LASTCODE) return code;
  const std::scoped_lock hold(book().lock);
  const auto found = book().added.find(code);
  if (found == book().added.end()) return std::nullopt;
  return found->second.error_class;
}

int* last_used_code() {
  return &book().last;
}

}  // namespace tutti::mpi
