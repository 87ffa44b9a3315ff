// Handles that are none: of objects that were freed, while later ones live in their places, and
// words that never were any. Each is an error of the right class, and never a fault.
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <random>
#include <set>

#include "check.h"

using namespace ranks;

namespace {

using Word = std::uintptr_t;

template <class Handle>
Word word_of(Handle handle) {
  return reinterpret_cast<Word>(handle);
}
template <class Handle>
Handle as(Word word) {
  return reinterpret_cast<Handle>(word);
}

// How objects of one kind are made, freed, and looked at by a call that changes nothing.
struct Kind {
  const char* name;
  int error;
  std::function<Word()> make;
  std::function<void(Word)> free;
  std::function<int(Word)> look;
  bool ends_by_look = false;
};

void add_nothing(void*, void*, int*, MPI_Datatype*) {}
void handle_nothing(MPI_Comm*, int*, ...) {}

MPI_Comm shelf;  // where error handlers are tried

Word make_request(bool is_persistent) {
  static int in = 0;
  MPI_Request request;
  if (is_persistent)
    MPI_Recv_init(&in, 1, MPI_INT, 0, 77, MPI_COMM_SELF, &request);
  else
    MPI_Irecv(&in, 1, MPI_INT, 0, 77, MPI_COMM_SELF, &request);
  return word_of(request);
}
void end_request(Word word) {
  auto request = as<MPI_Request>(word);
  MPI_Cancel(&request);
  for (int done = 0; done == 0;) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
}
int look_at_request(Word word) {
  int flag = 0;
  return MPI_Request_get_status(as<MPI_Request>(word), &flag, MPI_STATUS_IGNORE);
}
void free_request(Word word) {
  auto request = as<MPI_Request>(word);
  MPI_Request_free(&request);
}

Word make_message() {
  int out = 1, flag = 0;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Send(&out, 1, MPI_INT, 0, 78, MPI_COMM_SELF);
  while (flag == 0) MPI_Improbe(0, 78, MPI_COMM_SELF, &flag, &message, MPI_STATUS_IGNORE);
  return word_of(message);
}
int receive_message(Word word) {
  int in = 0;
  auto message = as<MPI_Message>(word);
  return MPI_Mrecv(&in, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
}

template <class Handle, class Free>
std::function<void(Word)> freed_by(Free free) {
  return [free](Word word) {
    auto handle = as<Handle>(word);
    free(&handle);
  };
}

int number = 0;  // what looks fill

template <class Handle, class Make>
std::function<Word()> made_by(Make make) {
  return [make] {
    Handle made;
    make(&made);
    return word_of(made);
  };
}
void make_group(MPI_Group* made) {
  MPI_Group world;
  const int mine = 0;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, &mine, made);
  MPI_Group_free(&world);
}
int try_handler(Word word) {
  const int code = MPI_Comm_set_errhandler(shelf, as<MPI_Errhandler>(word));
  MPI_Comm_set_errhandler(shelf, MPI_ERRORS_RETURN);
  return code;
}

std::vector<Kind> kinds() {
  return {
      {"communicator", MPI_ERR_COMM,
       made_by<MPI_Comm>([](MPI_Comm* made) { MPI_Comm_dup(MPI_COMM_SELF, made); }),
       freed_by<MPI_Comm>(MPI_Comm_free),
       [](Word w) { return MPI_Comm_size(as<MPI_Comm>(w), &number); }},
      {"group", MPI_ERR_GROUP, made_by<MPI_Group>(make_group), freed_by<MPI_Group>(MPI_Group_free),
       [](Word w) { return MPI_Group_size(as<MPI_Group>(w), &number); }},
      {"datatype", MPI_ERR_TYPE,
       made_by<MPI_Datatype>([](MPI_Datatype* made) { MPI_Type_contiguous(3, MPI_INT, made); }),
       freed_by<MPI_Datatype>(MPI_Type_free),
       [](Word w) { return MPI_Type_size(as<MPI_Datatype>(w), &number); }},
      {"operation", MPI_ERR_OP,
       made_by<MPI_Op>([](MPI_Op* made) { MPI_Op_create(add_nothing, 1, made); }),
       freed_by<MPI_Op>(MPI_Op_free),
       [](Word w) { return MPI_Op_commutative(as<MPI_Op>(w), &number); }},
      {"request", MPI_ERR_REQUEST, [] { return make_request(false); }, end_request,
       look_at_request},
      {"persistent request", MPI_ERR_REQUEST, [] { return make_request(true); }, free_request,
       look_at_request},
      {"message", MPI_ERR_REQUEST, make_message, [](Word w) { receive_message(w); },
       receive_message, true},
      {"error handler", MPI_ERR_ERRHANDLER, made_by<MPI_Errhandler>([](MPI_Errhandler* made) {
         MPI_Comm_create_errhandler(handle_nothing, made);
       }),
       freed_by<MPI_Errhandler>(MPI_Errhandler_free), try_handler},
      {"info", MPI_ERR_INFO, made_by<MPI_Info>(MPI_Info_create), freed_by<MPI_Info>(MPI_Info_free),
       [](Word w) { return MPI_Info_get_nkeys(as<MPI_Info>(w), &number); }},
      {"session", MPI_ERR_SESSION, made_by<MPI_Session>([](MPI_Session* made) {
         MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, made);
       }),
       freed_by<MPI_Session>(MPI_Session_finalize),
       [](Word w) {
         return MPI_Session_get_num_psets(as<MPI_Session>(w), MPI_INFO_NULL, &number);
       }},
  };
}

// Its places are used again and again; whoever keeps an old handle is told.
void stale(const Kind& kind) {
  std::set<Word> old;
  int wrong = 0;
  for (int life = 0; life < 200; ++life) {
    std::vector<Word> live;
    for (int i = 0; i < 5; ++i) live.push_back(kind.make());
    for (const Word word : live) wrong += old.count(word) != 0;
    if (!kind.ends_by_look)
      for (const Word word : live) wrong += kind.look(word) != MPI_SUCCESS;
    for (const Word word : live) {
      kind.free(word);
      old.insert(word);
    }
    const Word again = kind.make();
    for (const Word word : old) wrong += word == again || class_of(kind.look(word)) != kind.error;
    kind.free(again);
    old.insert(again);
  }
  if (wrong != 0) std::fprintf(stderr, "%s: %d stale handles taken wrongly\n", kind.name, wrong);
  CHECK(wrong == 0);
}

// Noise, and words that are nearly the handles of all kinds of objects.
void invented(const std::vector<Kind>& all, const Kind& kind, int words) {
  std::vector<Word> live;
  for (const Kind& each : all) live.push_back(each.make());
  std::mt19937_64 random(static_cast<Word>(rank) + 1);
  int wrong = 0;
  for (int i = 0; i < words; ++i) {
    const Word noise = random(), near = live[random() % live.size()];
    const Word choices[] = {noise,
                            noise & 0xffff,
                            near ^ (Word{1} << (noise & 63)),
                            near + (noise & 0xfffff),
                            (near & 0x0000ffffffffff00) | (noise & 0xffff0000000000ff),
                            (near & 0xffff000000000000) | (noise & 0x0000ffffffffffff),
                            word_of(&noise) + (noise & 0xff)};
    Word word = choices[i % 7];
    if (word < 0x400) word += 0x400;  // those are predefined
    bool is_live = false;
    for (const Word each : live) is_live = is_live || each == word;
    if (!is_live) wrong += class_of(kind.look(word)) != kind.error;
  }
  // The handles of other kinds are wrong, too.
  for (std::size_t i = 0; i < live.size(); ++i)
    if (all[i].error != kind.error) wrong += class_of(kind.look(live[i])) != kind.error;
  for (std::size_t i = 0; i < live.size(); ++i) all[i].free(live[i]);
  if (wrong != 0) std::fprintf(stderr, "%s: %d words taken wrongly\n", kind.name, wrong);
  CHECK(wrong == 0);
}

// As they were found: freed communicators, a request of nowhere, counts below zero, no room.
void found() {
  MPI_Comm comm;
  int n = 0, flag = 0, length = 10, value = 0;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm freed = comm;
  MPI_Barrier(comm);
  MPI_Comm_free(&comm);
  CHECK(class_of(MPI_Comm_size(freed, &n)) == MPI_ERR_COMM);
  CHECK(class_of(MPI_Barrier(freed)) == MPI_ERR_COMM);
  CHECK(class_of(MPI_Send(&value, 1, MPI_INT, rank, 0, freed)) == MPI_ERR_COMM);
  CHECK(class_of(MPI_Win_create(&value, 4, 4, MPI_INFO_NULL, freed, nullptr)) != MPI_SUCCESS);
  auto request = as<MPI_Request>(0x5555);
  MPI_Request many[3] = {MPI_REQUEST_NULL, request, MPI_REQUEST_NULL};
  CHECK(class_of(MPI_Wait(&request, MPI_STATUS_IGNORE)) == MPI_ERR_REQUEST);
  CHECK(class_of(MPI_Test(&request, &flag, MPI_STATUS_IGNORE)) == MPI_ERR_REQUEST);
  CHECK(class_of(MPI_Request_free(&request)) == MPI_ERR_REQUEST);
  CHECK(class_of(MPI_Start(&request)) == MPI_ERR_REQUEST);
  CHECK(class_of(MPI_Waitall(3, many, MPI_STATUSES_IGNORE)) == MPI_ERR_REQUEST);
  CHECK(class_of(MPI_Waitall(-1, many, MPI_STATUSES_IGNORE)) == MPI_ERR_COUNT);
  CHECK(class_of(MPI_Waitany(-1, many, &n, MPI_STATUS_IGNORE)) == MPI_ERR_COUNT);
  CHECK(class_of(MPI_Startall(-1, many)) == MPI_ERR_COUNT);
  MPI_Session session;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
  CHECK(class_of(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &length, nullptr)) ==
        MPI_ERR_ARG);
  length = 0;
  CHECK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &length, nullptr) == MPI_SUCCESS);
  CHECK(length > 1);
  MPI_Session_finalize(&session);
}

// Frees by copies of one handle: right once and `more` times, for so many were handed out; then it
// is refused, though the library still uses the object.
template <class Handle>
void free_often(Handle handle, int (*free)(Handle*), int error, int more = 0) {
  for (int time = 0; time < 4 + more; ++time) {
    Handle copy = handle;
    CHECK(class_of(free(&copy)) == (time <= more ? MPI_SUCCESS : error));
  }
}

void in_use() {
  MPI_Comm comm;
  MPI_Group group, again;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_group(comm, &group);
  MPI_Comm_group(comm, &again);
  CHECK(group == again);
  free_often(group, MPI_Group_free, MPI_ERR_GROUP, 1);
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  free_often(group, MPI_Group_free, MPI_ERR_GROUP);
  int n = 0;
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  CHECK(MPI_Group_size(group, &n) == MPI_SUCCESS && n == size);
  MPI_Group_free(&group);

  MPI_Errhandler handler, kept;
  MPI_Comm_create_errhandler(handle_nothing, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  MPI_Comm_get_errhandler(comm, &kept);
  free_often(handler, MPI_Errhandler_free, MPI_ERR_ERRHANDLER, 1);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);

  MPI_Datatype inner, outer, contents[1];
  int counts[3];
  MPI_Aint places[1];
  MPI_Type_contiguous(2, MPI_INT, &inner);
  MPI_Type_vector(2, 1, 2, inner, &outer);
  MPI_Type_commit(&outer);
  free_often(inner, MPI_Type_free, MPI_ERR_TYPE);
  CHECK(MPI_Type_get_contents(outer, 3, 0, 1, counts, places, contents) == MPI_SUCCESS);
  free_often(contents[0], MPI_Type_free, MPI_ERR_TYPE);
  int from[8] = {1, 2, 3, 4, 5, 6, 7, 8}, to[8] = {};
  CHECK(MPI_Sendrecv(from, 1, outer, rank, 0, to, 1, outer, rank, 0, comm, MPI_STATUS_IGNORE) ==
        MPI_SUCCESS);
  CHECK(to[0] == 1 && to[1] == 2 && to[4] == 5 && to[5] == 6);
  MPI_Type_free(&outer);

  // Under way while they are freed.
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  MPI_Op op;
  MPI_Request request, summing, both;
  MPI_Op_create(add_nothing, 1, &op);
  MPI_Irecv(to, 1, MPI_INT, left, 79, comm, &request);
  MPI_Iallreduce(from, to + 4, 1, MPI_INT, op, comm, &summing);
  free_often(op, MPI_Op_free, MPI_ERR_OP);
  free_often(request, MPI_Request_free, MPI_ERR_REQUEST);
  MPI_Isendrecv(from, 1, MPI_INT, right, 80, to + 6, 1, MPI_INT, left, 81, comm, &both);
  free_often(both, MPI_Request_free, MPI_ERR_REQUEST);
  MPI_Wait(&summing, MPI_STATUS_IGNORE);
  MPI_Barrier(comm);  // all have freed their requests
  MPI_Send(from, 1, MPI_INT, right, 79, comm);
  MPI_Sendrecv(from, 1, MPI_INT, right, 81, to + 7, 1, MPI_INT, left, 80, comm, MPI_STATUS_IGNORE);
  free_often(comm, MPI_Comm_free, MPI_ERR_COMM);
  MPI_Barrier(MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  const int words = argc > 1 ? std::atoi(argv[1]) : 1'000'000;
  begin();
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_dup(MPI_COMM_SELF, &shelf);
  found();
  in_use();
  const std::vector<Kind> all = kinds();
  for (const Kind& kind : all) {
    stale(kind);
    invented(all, kind, words);
  }
  MPI_Comm_free(&shelf);
  return done();
}
