// MPI 5.0, 9.4 and 9.5: every class has a string and is its own class; users add classes, codes
// and strings, MPI_LASTUSEDCODE follows them, and removing goes in the other order: string, codes,
// class.
#include <cstring>

#include "check.h"

using namespace ranks;

namespace {

std::string text_of(int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length = -1;
  MPI_Error_string(code, text, &length);
  CHECK(length == static_cast<int>(std::strlen(text)));
  return text;
}
int last_used() {
  int* value = nullptr;
  int flag = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &value, &flag);
  return flag != 0 ? *value : -1;
}

}  // namespace

int main() {
  begin();
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  for (int code = MPI_ERR_BUFFER; code <= MPI_ERR_ERRHANDLER; ++code) {
    int error_class = -1;
    if (MPI_Error_class(code, &error_class) != MPI_SUCCESS) continue;  // the ABI has gaps
    CHECK(error_class == code && !text_of(code).empty());
  }
  CHECK(last_used() >= MPI_ERR_LASTCODE);
  int error_class = 0, code = 0, found = 0;
  MPI_Add_error_class(&error_class);
  CHECK(error_class > MPI_ERR_LASTCODE && last_used() == error_class);
  MPI_Add_error_code(error_class, &code);
  MPI_Error_class(code, &found);
  CHECK(found == error_class && last_used() == code && text_of(code).empty());
  MPI_Add_error_string(code, "the pump is dry");
  CHECK(text_of(code) == "the pump is dry");

  CHECK(MPI_Remove_error_class(error_class) != MPI_SUCCESS);
  CHECK(MPI_Remove_error_code(code) != MPI_SUCCESS);
  CHECK(MPI_Remove_error_string(code) == MPI_SUCCESS && text_of(code).empty());
  CHECK(MPI_Remove_error_code(code) == MPI_SUCCESS);
  CHECK(MPI_Remove_error_class(error_class) == MPI_SUCCESS);
  CHECK(MPI_Error_class(error_class, &found) != MPI_SUCCESS);
  CHECK(MPI_Remove_error_class(MPI_ERR_RANK) != MPI_SUCCESS);
  CHECK(MPI_Add_error_string(MPI_ERR_RANK, "mine") != MPI_SUCCESS);
  return done();
}
