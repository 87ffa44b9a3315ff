// MPI 5.0, 10 and 11.2.1: Info_create_env makes, even before MPI_Init, an info of the caller's own
// that says what MPI_INFO_ENV says, of the arguments that it is given. A value's length can be
// asked for without room for the value.
#include "check.h"

using namespace ranks;

namespace {

std::string value(MPI_Info info, const char* key) {
  char text[MPI_MAX_INFO_VAL] = "";
  int room = sizeof text, flag = 0;
  MPI_Info_get_string(info, key, &room, text, &flag);
  return flag != 0 ? text : "";
}

int length(MPI_Info info, const char* key) {
  int room = 0, flag = 0;
  CHECK(MPI_Info_get_string(info, key, &room, nullptr, &flag) == MPI_SUCCESS);
  return flag != 0 ? room : -1;
}

void of_other_arguments() {
  char program[] = "ocean", first[] = "-n", second[] = "two words";
  char* argv[] = {program, first, second, nullptr};
  MPI_Info info;
  CHECK(MPI_Info_create_env(3, argv, &info) == MPI_SUCCESS);
  CHECK(value(info, "command") == "ocean" && value(info, "argv") == "-n two words");
  CHECK(length(info, "argv") == 13 && length(info, "none") == -1);
  MPI_Info_free(&info);
  CHECK(MPI_Info_create_env(1, argv, &info) == MPI_SUCCESS);
  CHECK(value(info, "command") == "ocean" && length(info, "argv") == -1);
  MPI_Info_free(&info);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Info early = MPI_INFO_NULL;
  CHECK(MPI_Info_create_env(argc, argv, &early) == MPI_SUCCESS && early != MPI_INFO_NULL);
  CHECK(!value(early, "command").empty());
  begin();
  int keys = 0;
  MPI_Info_get_nkeys(MPI_INFO_ENV, &keys);
  CHECK(keys > 0);
  for (int i = 0; i < keys; ++i) {
    char key[MPI_MAX_INFO_KEY];
    MPI_Info_get_nthkey(MPI_INFO_ENV, i, key);
    CHECK(value(early, key) == value(MPI_INFO_ENV, key));
  }
  MPI_Info_set(early, "command", "another");
  CHECK(value(early, "command") == "another" && value(MPI_INFO_ENV, "command") != "another");
  CHECK(MPI_Info_free(&early) == MPI_SUCCESS);
  of_other_arguments();
  return done();
}
