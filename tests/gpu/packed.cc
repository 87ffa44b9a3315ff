// Messages between GPUs of one host that cannot be read where they lie: of derived types, in
// managed memory, and in memory that was made for one process. They are packed by the one GPU and
// read by the other: of their bytes none passes through host memory.
// Arguments: "direct" (so), "staged" (no way is open), "full" (so far as there is memory to pack
// into), "killed" and a rank, which wants --enable-recovery, "failed" and the rank whose driver
// does, "real" (a real driver, which does not count).
#include <cstdlib>
#include <memory>
#include <numeric>

#include "area.h"
#include "counted.h"
#include "killed.h"

using namespace ranks;
using gpu::Kind;

namespace {

struct Layout {
  const char* name;
  MPI_Datatype type;
};

// Of 96,000 bytes each, all at places that kernels may move 16 bytes at a time from: a plain row,
// and layouts in which it has gaps. (Those at odd places are short ones, in layouts.cc.)
std::vector<Layout> layouts() {
  std::vector<Layout> all;
  const auto add = [&all](const char* name, MPI_Datatype type) {
    MPI_Type_commit(&type);
    all.push_back({name, type});
  };
  MPI_Datatype made, record;
  MPI_Type_contiguous(24000, MPI_INT, &made);
  add("a row", made);
  MPI_Type_vector(60, 400, 700, MPI_INT, &made);
  add("vector", made);
  std::vector<int> lengths, places;
  for (int i = 0; i < 48; ++i) {
    lengths.push_back(100 * (1 + i % 9));  // the last one has what is missing
    places.push_back(1000 * i + 4 * (i % 3));
  }
  lengths.back() += 24000 - std::accumulate(lengths.begin(), lengths.end(), 0);
  MPI_Type_indexed(48, lengths.data(), places.data(), MPI_INT, &made);
  add("indexed", made);
  const int parts[] = {200, 100, 300};
  const MPI_Aint at[] = {0, 1600, 2400};
  const MPI_Datatype of[] = {MPI_INT, MPI_INT, MPI_INT};
  MPI_Type_create_struct(3, parts, at, of, &record);
  MPI_Type_create_hvector(40, 1, 4000, record, &made);
  MPI_Type_free(&record);
  add("structs in a vector", made);
  return all;
}

std::size_t room_of(MPI_Datatype type, int count) {
  MPI_Aint low = 0, extent = 0, true_low = 0, true_extent = 0;
  MPI_Type_get_extent(type, &low, &extent);
  MPI_Type_get_true_extent(type, &true_low, &true_extent);
  return static_cast<std::size_t>(true_low + true_extent + extent * (count - 1)) / sizeof(int) + 1;
}

std::vector<int> numbers(std::size_t count, int from) {
  std::vector<int> all(count);
  for (std::size_t i = 0; i < count; ++i)
    all[i] = static_cast<int>(i * 2654435761U + static_cast<unsigned>(from) * 1000003U);
  return all;
}

// The same in host memory, to oneself, says what has to come out.
std::vector<int> expected(const std::vector<int>& sent, const Layout& from, std::vector<int> into,
                          const Layout& to, int count) {
  MPI_Sendrecv(sent.data(), count, from.type, 0, 0, into.data(), count, to.type, 0, 0,
               MPI_COMM_SELF, MPI_STATUS_IGNORE);
  return into;
}

// Both ways at once.
void exchange(const Layout& from, Kind kind, const Layout& to, Kind to_kind, int count,
              bool is_direct) {
  const int other = 1 - rank;
  const std::size_t room = room_of(from.type, count), to_room = room_of(to.type, count);
  gpu::Vector<int> out(numbers(room, rank), kind);
  const std::vector<int> before(to_room, -1);
  gpu::Vector<int> in(before, to_kind);
  const std::vector<int> wanted = expected(numbers(room, other), from, before, to, count);
  CU(cuCtxSynchronize());
  const unsigned long long passed = gpu::through_host();
  MPI_Sendrecv(out.data(), count, from.type, other, 1, in.data(), count, to.type, other, 1,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  // What the stand-in's driver copies out of managed memory it takes for the host's.
  const bool is_told = gpu::is_driver_counted() && !(kind == Kind::managed && &from == &to);
  if (is_told) CHECK((gpu::through_host() == passed) == is_direct);
  const bool is_right = in.get() == wanted;
  CHECK(is_right);
  if (!is_right)
    std::fprintf(stderr, "rank %d: %s in %s memory, into %s, %d of them\n", rank, from.name,
                 gpu::kKindNames[static_cast<int>(kind)], to.name, count);
}

// Two pieces, a window and some bytes more, and many pieces.
constexpr int kSome[] = {1, 175, 350};

// The GPU measures what copies take, and lists the types' runs, when it first meets them.
void meet(const std::vector<Layout>& all) {
  for (const Layout& each : all) {
    gpu::Vector<int> out(numbers(room_of(each.type, 175), rank), Kind::device),
        in(numbers(room_of(each.type, 175), rank), Kind::device);
    MPI_Sendrecv(out.data(), 175, each.type, 1 - rank, 0, in.data(), 175, each.type, 1 - rank, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

void ways(const std::vector<Layout>& all, bool is_direct) {
  const Layout& row = all.front();
  for (const Layout& each : all)
    for (const int count : kSome) {
      exchange(each, Kind::device, each, Kind::device, count, is_direct);
      if (&each == &row) continue;
      exchange(each, Kind::device, row, Kind::device, count, is_direct);
      exchange(row, Kind::device, each, Kind::device, count, is_direct);
    }
  for (const Kind kind :
       {Kind::managed, Kind::pool, Kind::mapped, Kind::segments, Kind::shareable_pool})
    for (const int count : {1, 200}) {
      exchange(all[1], kind, all[2], kind, count, is_direct);
      exchange(row, kind, row, Kind::device, count, is_direct);
    }
}

// Many at once: more than there is memory to pack them into.
void many(const Layout& each) {
  constexpr int kMessages = 4, kCount = 180;
  const std::size_t room = room_of(each.type, kCount);
  std::vector<std::unique_ptr<gpu::Vector<int>>> out, in;
  std::vector<MPI_Request> requests;
  const int other = 1 - rank;
  for (int i = 0; i < kMessages; ++i) {
    out.push_back(std::make_unique<gpu::Vector<int>>(numbers(room, rank + 2 * i), Kind::device));
    in.push_back(std::make_unique<gpu::Vector<int>>(std::vector<int>(room, -1), Kind::device));
    requests.emplace_back();
    MPI_Isend(out.back()->data(), kCount, each.type, other, i, MPI_COMM_WORLD, &requests.back());
  }
  for (int i = kMessages; i-- > 0;) {
    requests.emplace_back();
    MPI_Irecv(in[static_cast<std::size_t>(i)]->data(), kCount, each.type, other, i, MPI_COMM_WORLD,
              &requests.back());
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  for (int i = 0; i < kMessages; ++i)
    CHECK(in[static_cast<std::size_t>(i)]->get() ==
          expected(numbers(room, other + 2 * i), each, std::vector<int>(room, -1), each, kCount));
}

// A receive that is too short, by some pieces; one into host memory; one that nobody makes.
void of_other_ends(const Layout& each) {
  constexpr int kCount = 500, kShort = 250;
  const std::size_t room = room_of(each.type, kCount);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (rank == 0) {
    gpu::Vector<int> out(numbers(room, 3), Kind::device);
    for (int tag = 10; tag < 12; ++tag)
      MPI_Send(out.data(), kCount, each.type, 1, tag, MPI_COMM_WORLD);
    MPI_Request request;
    MPI_Isend(out.data(), kCount, each.type, 1, 12, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Status status;
    MPI_Wait(&request, &status);
    int was_cancelled = 0;
    MPI_Test_cancelled(&status, &was_cancelled);
    CHECK(was_cancelled != 0);
    MPI_Barrier(MPI_COMM_WORLD);
  } else {
    const std::vector<int> before(room, -1);
    gpu::Vector<int> in(before, Kind::device);
    MPI_Status status;
    const int said = MPI_Recv(in.data(), kShort, each.type, 0, 10, MPI_COMM_WORLD, &status);
    int error = MPI_SUCCESS, got = 0;
    MPI_Error_class(said, &error);
    MPI_Get_count(&status, each.type, &got);
    CHECK(error == MPI_ERR_TRUNCATE);
    CHECK(got == kShort);
    CHECK(in.get() == expected(numbers(room, 3), each, before, each, kShort));
    std::vector<int> host = before;
    MPI_Recv(host.data(), kCount, each.type, 0, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(host == expected(numbers(room, 3), each, before, each, kCount));
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

void killed(const Layout& each, int dying) {
  constexpr int kCount = 500;
  const int other = 1 - rank;
  const std::size_t room = room_of(each.type, kCount);
  gpu::Vector<int> out(numbers(room, rank), Kind::device), in(std::vector<int>(room), Kind::device);
  gpu::until_killed(dying, 3, std::chrono::milliseconds(70), [&] {
    return MPI_Sendrecv(out.data(), kCount, each.type, other, 1, in.data(), kCount, each.type,
                        other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  });
}

// The driver of one rank fails while pieces go: an error at both ends, and no job that stands
// still.
void failed(const Layout& each, int failing) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  constexpr int kCount = 500;
  const std::size_t room = room_of(each.type, kCount);
  gpu::Vector<int> memory(numbers(room, rank), Kind::device);
  const int code = rank == 0 ? MPI_Send(memory.data(), kCount, each.type, 1, 1, MPI_COMM_WORLD)
                             : MPI_Recv(memory.data(), kCount, each.type, 0, 1, MPI_COMM_WORLD,
                                        MPI_STATUS_IGNORE);
  int error = MPI_SUCCESS;
  MPI_Error_class(code, &error);
  CHECK(rank == 1 ? error == MPI_ERR_OTHER : (code != MPI_SUCCESS) == (failing == 0));
  int word = rank;
  MPI_Bcast(&word, 1, MPI_INT, 0, MPI_COMM_WORLD);
  CHECK(word == 0);
}

}  // namespace

int main(int argc, char** argv) {
  ::setenv("TUTTI_SINGLE_COPY", "on", 0);  // of what could be read all is
  begin();
  gpu::begin();
  const std::string way = argc > 1 ? argv[1] : "";
  std::vector<Layout> all = layouts();
  if (way == "killed") {
    killed(all[1], argc > 2 ? std::atoi(argv[2]) : 0);
    return failures == 0 ? 0 : 1;  // the other is gone: no end together
  }
  if (way == "failed") {
    failed(all[1], argc > 2 ? std::atoi(argv[2]) : 0);
    return done();
  }
  if (rank < 2) {
    meet(all);
    if (way != "full") ways(all, way == "direct" || way == "real");
    many(all[1]);
    of_other_ends(all[3]);
  }
  for (Layout& each : all) MPI_Type_free(&each.type);
  return done();
}
