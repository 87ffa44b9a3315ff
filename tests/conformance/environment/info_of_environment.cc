// MPI 5.0, 10 and 11.2.1: Info_create_env makes, even before MPI_Init, an info of the caller's own
// that says what MPI_INFO_ENV says.
#include "check.h"

using namespace ranks;

namespace {

std::string value(MPI_Info info, const char* key) {
  char text[MPI_MAX_INFO_VAL] = "";
  int room = sizeof text, flag = 0;
  MPI_Info_get_string(info, key, &room, text, &flag);
  return flag != 0 ? text : "";
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
  return done();
}
