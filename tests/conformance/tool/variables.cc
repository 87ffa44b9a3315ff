// MPI 5.0, 15.3: control and performance variables, categories and enumerations, before MPI_Init,
// between MPI_Init and MPI_Finalize, and after it.
#include <cstring>

#include "check.h"

using namespace ranks;

namespace {

std::string name_of_control(int index) {
  char name[100];
  int length = sizeof name;
  CHECK(MPI_T_cvar_get_info(index, name, &length, nullptr, nullptr, nullptr, nullptr, nullptr,
                            nullptr, nullptr) == MPI_SUCCESS);
  CHECK(length == static_cast<int>(std::strlen(name)) + 1);
  return name;
}

void names_and_indices() {
  int number = 0, index = -1;
  CHECK(MPI_T_cvar_get_num(&number) == MPI_SUCCESS && number > 10);
  for (int i = 0; i < number; ++i) {
    CHECK(MPI_T_cvar_get_index(name_of_control(i).c_str(), &index) == MPI_SUCCESS);
    CHECK(index == i);
  }
  char tiny[3] = "zz";
  int room = sizeof tiny;
  MPI_T_cvar_get_info(0, tiny, &room, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                      nullptr);
  CHECK(tiny[2] == '\0' && room == static_cast<int>(name_of_control(0).size()) + 1);
  CHECK(MPI_T_cvar_get_index("no_such", &index) == MPI_T_ERR_INVALID_NAME);
  CHECK(MPI_T_cvar_get_index(nullptr, &index) == MPI_T_ERR_INVALID);
  CHECK(MPI_T_cvar_get_info(number, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr,
                            nullptr, nullptr) == MPI_T_ERR_INVALID_INDEX);
}

MPI_T_cvar_handle control(const char* name, MPI_Datatype expected) {
  int index = -1, count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_T_enum values = MPI_T_ENUM_NULL;
  MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
  CHECK(MPI_T_cvar_get_index(name, &index) == MPI_SUCCESS);
  MPI_T_cvar_get_info(index, nullptr, nullptr, nullptr, &type, &values, nullptr, nullptr, nullptr,
                      nullptr);
  CHECK(type == expected);
  CHECK(MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) == MPI_SUCCESS);
  CHECK(count == (type == MPI_CHAR ? 256 : 1));
  if (values != MPI_T_ENUM_NULL) {
    char word[10];
    int length = sizeof word, number = 0, value = -1;
    CHECK(MPI_T_enum_get_info(values, &number, word, &length) == MPI_SUCCESS && number == 2);
    length = sizeof word;
    CHECK(MPI_T_enum_get_item(values, 1, &value, word, &length) == MPI_SUCCESS);
    CHECK(value == 1 && std::strcmp(word, "on") == 0);
    CHECK(MPI_T_enum_get_item(values, 2, &value, word, &length) == MPI_T_ERR_INVALID_INDEX);
  }
  return handle;
}

// Written before MPI_Init it is in force after it, and then fixed.
void controls(bool running) {
  MPI_T_cvar_handle eager = control("TUTTI_EAGER_BYTES", MPI_COUNT);
  MPI_T_cvar_handle checks = control("TUTTI_CHECKS", MPI_INT);
  MPI_T_cvar_handle bcast = control("TUTTI_BCAST", MPI_CHAR);
  MPI_Count bytes = 0;
  char text[256] = "";
  int on = -1;
  if (!running) {
    bytes = 1000;
    CHECK(MPI_T_cvar_write(eager, &bytes) == MPI_SUCCESS);
    CHECK(MPI_T_cvar_write(bcast, "binomial") == MPI_SUCCESS);
    on = 7;
    CHECK(MPI_T_cvar_write(checks, &on) == MPI_T_ERR_INVALID);
  }
  bytes = -1;
  CHECK(MPI_T_cvar_read(eager, &bytes) == MPI_SUCCESS && bytes == 1000);
  CHECK(MPI_T_cvar_read(bcast, text) == MPI_SUCCESS && std::strcmp(text, "binomial") == 0);
  CHECK(MPI_T_cvar_read(checks, &on) == MPI_SUCCESS && on == 1);
  if (running) {
    CHECK(MPI_T_cvar_write(eager, &bytes) == MPI_T_ERR_CVAR_SET_NOT_NOW);
    on = 0;
    CHECK(MPI_T_cvar_write(checks, &on) == MPI_SUCCESS);
    CHECK(MPI_T_cvar_read(checks, &on) == MPI_SUCCESS && on == 0);
    on = 1;
    MPI_T_cvar_write(checks, &on);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(MPI_Send(nullptr, -1, MPI_INT, 0, 0, MPI_COMM_WORLD) != MPI_SUCCESS);
  }
  CHECK(MPI_T_cvar_handle_free(&eager) == MPI_SUCCESS && eager == MPI_T_CVAR_HANDLE_NULL);
  CHECK(MPI_T_cvar_handle_free(&eager) == MPI_T_ERR_INVALID_HANDLE);
  CHECK(MPI_T_cvar_read(eager, &bytes) == MPI_T_ERR_INVALID_HANDLE);
  MPI_T_cvar_handle_free(&checks);
  MPI_T_cvar_handle_free(&bcast);
}

void categories() {
  int number = 0, all_controls = 0, total = 0, index = -1, variables = 0, below = 0, events = 0;
  MPI_T_category_get_num(&number);
  MPI_T_cvar_get_num(&all_controls);
  for (int i = 0; i < number; ++i) {
    char name[40];
    int length = sizeof name, mine = 0;
    CHECK(MPI_T_category_get_info(i, name, &length, nullptr, nullptr, &mine, &variables, &below) ==
          MPI_SUCCESS);
    CHECK(MPI_T_category_get_index(name, &index) == MPI_SUCCESS && index == i);
    std::vector<int> found(static_cast<std::size_t>(mine) + 1, -1);
    CHECK(MPI_T_category_get_cvars(i, mine + 1, found.data()) == MPI_SUCCESS);
    CHECK(found.back() == -1 && (mine == 0 || found.front() >= 0));
    total += mine;
    if (below == 0) continue;
    CHECK(below == number - 1);
    CHECK(MPI_T_category_get_categories(i, 1, &index) == MPI_SUCCESS && index == 1);
  }
  CHECK(total == all_controls);
  MPI_T_category_get_index("p2p", &index);
  MPI_T_category_get_num_events(index, &events);
  CHECK(events == 3);
  events = variables = total = -1;
  CHECK(MPI_T_category_get_events(index, 1, &events) == MPI_SUCCESS && events == 0);
  CHECK(MPI_T_category_get_pvars(index, 1, &variables) == MPI_SUCCESS && variables == 0);
  CHECK(MPI_T_category_changed(&total) == MPI_SUCCESS && total == 0);
  CHECK(MPI_T_category_get_cvars(number, 0, nullptr) == MPI_T_ERR_INVALID_INDEX);
}

void send_to_self(int n) {
  for (int i = 0; i < n; ++i) MPI_Send(&i, 1, MPI_INT, 0, 5, MPI_COMM_SELF);
  int flag = 0;
  while (flag == 0) MPI_Iprobe(0, 5, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}
void receive_from_self(int n) {
  int word = 0;
  for (int i = 0; i < n; ++i) MPI_Recv(&word, 1, MPI_INT, 0, 5, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

MPI_T_pvar_handle variable(MPI_T_pvar_session session, const char* name, int variable_class) {
  int index = -1, count = 0;
  MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
  CHECK(MPI_T_pvar_get_index(name, variable_class, &index) == MPI_SUCCESS);
  CHECK(MPI_T_pvar_handle_alloc(session, index, nullptr, &handle, &count) == MPI_SUCCESS);
  CHECK(count == 1);
  return handle;
}

unsigned long long value(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
  unsigned long long read = ~0ULL;
  CHECK(MPI_T_pvar_read(session, handle, &read) == MPI_SUCCESS);
  return read;
}

void performance() {
  MPI_T_pvar_session session, other;
  MPI_T_pvar_session_create(&session);
  MPI_T_pvar_session_create(&other);
  MPI_T_pvar_handle sent = variable(session, "messages_sent", MPI_T_PVAR_CLASS_COUNTER);
  MPI_T_pvar_handle bytes = variable(session, "bytes_sent", MPI_T_PVAR_CLASS_COUNTER);
  MPI_T_pvar_handle queue = variable(session, "unexpected_queue", MPI_T_PVAR_CLASS_LEVEL);
  send_to_self(2);
  CHECK(value(session, sent) == 0);  // not started
  CHECK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS);
  send_to_self(3);
  CHECK(value(session, sent) == 3 && value(session, bytes) == 12 && value(session, queue) >= 1);
  CHECK(MPI_T_pvar_stop(session, sent) == MPI_SUCCESS);
  send_to_self(1);
  CHECK(value(session, sent) == 3 && value(session, bytes) == 16);
  unsigned long long read = 0;
  CHECK(MPI_T_pvar_readreset(session, bytes, &read) == MPI_SUCCESS && read == 16);
  CHECK(value(session, bytes) == 0);
  read = 100;
  CHECK(MPI_T_pvar_write(session, sent, &read) == MPI_SUCCESS && value(session, sent) == 100);
  receive_from_self(6);
  CHECK(value(session, queue) == 0);
  CHECK(MPI_T_pvar_reset(session, queue) == MPI_T_ERR_PVAR_NO_WRITE);
  CHECK(MPI_T_pvar_start(session, queue) == MPI_T_ERR_PVAR_NO_STARTSTOP);
  CHECK(MPI_T_pvar_readreset(session, queue, &read) == MPI_T_ERR_PVAR_NO_ATOMIC);
  CHECK(MPI_T_pvar_read(other, sent, &read) == MPI_T_ERR_INVALID_HANDLE);
  CHECK(MPI_T_pvar_handle_free(session, &sent) == MPI_SUCCESS && sent == MPI_T_PVAR_HANDLE_NULL);
  CHECK(MPI_T_pvar_session_free(&session) == MPI_SUCCESS);
  CHECK(MPI_T_pvar_session_free(&session) == MPI_T_ERR_INVALID_SESSION);
  MPI_T_pvar_session_free(&other);
}

}  // namespace

int main() {
  int provided = -1, number = 0;
  CHECK(MPI_T_cvar_get_num(&number) == MPI_T_ERR_NOT_INITIALIZED);
  CHECK(MPI_T_finalize() == MPI_T_ERR_NOT_INITIALIZED);
  CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS);
  names_and_indices();
  categories();
  controls(false);
  begin();
  controls(true);
  performance();
  MPI_Finalize();
  names_and_indices();
  CHECK(MPI_T_pvar_get_num(&number) == MPI_SUCCESS && number > 5);
  CHECK(MPI_T_finalize() == MPI_SUCCESS);
  CHECK(MPI_T_pvar_get_num(&number) == MPI_T_ERR_NOT_INITIALIZED);
  return failures == 0 ? 0 : 1;
}
