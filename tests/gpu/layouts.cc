// Derived datatypes in GPU memory: messages, MPI_Pack and MPI_Unpack of layouts of each sort, by
// kernels. Each rank and buffer draws its kind; the same layout in host memory says what has to
// come out.
#include <functional>
#include <memory>
#include <numeric>

#include "area.h"

using namespace ranks;
using gpu::any_kind;

namespace {

struct Layout {
  const char* name;
  MPI_Datatype type;
};

MPI_Datatype irregular(int blocks, int length, MPI_Datatype of) {
  std::vector<int> lengths, places;
  int at = 0;
  for (int i = 0; i < blocks; ++i) {
    lengths.push_back(1 + (i * 7) % length);
    at += i % 3;
    places.push_back(at);
    at += lengths.back();
  }
  MPI_Datatype type;
  MPI_Type_indexed(blocks, lengths.data(), places.data(), of, &type);
  return type;
}

std::vector<Layout> layouts() {
  std::vector<Layout> all;
  const auto add = [&all](const char* name, MPI_Datatype type) {
    MPI_Type_commit(&type);
    all.push_back({name, type});
    return type;
  };
  MPI_Datatype made;
  MPI_Type_vector(100, 3, 7, MPI_INT, &made);
  const MPI_Datatype vector = add("vector", made);
  MPI_Type_vector(50, 1, 2, MPI_CHAR, &made);
  add("bytes apart", made);
  MPI_Type_create_hvector(20, 5, 37, MPI_CHAR, &made);
  add("at odd places", made);
  add("indexed", irregular(40, 5, MPI_INT));
  add("many runs", irregular(5000, 4, MPI_CHAR));
  const int lengths[] = {1, 3, 2};
  const MPI_Aint places[] = {0, 8, 40};
  const MPI_Datatype parts[] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT};
  MPI_Type_create_struct(3, lengths, places, parts, &made);
  const MPI_Datatype record = add("struct", made);
  MPI_Type_create_hvector(3, 2, 200, record, &made);
  add("vector of structs", made);
  const int sizes[] = {9, 8, 7}, subsizes[] = {4, 5, 3}, starts[] = {2, 1, 3};
  MPI_Type_create_subarray(3, sizes, subsizes, starts, MPI_ORDER_C, MPI_FLOAT, &made);
  add("subarray", made);
  MPI_Type_create_hvector(4, 1, -16, MPI_INT, &made);
  MPI_Datatype shifted;
  const int one = 1;
  const MPI_Aint at = 64;
  MPI_Type_create_hindexed(1, &one, &at, made, &shifted);
  MPI_Type_free(&made);
  add("backwards", shifted);
  MPI_Type_create_hvector(2, 1, 4096, vector, &made);
  add("vector of vectors", made);
  add("pairs with gaps", [] {
    MPI_Datatype pair;
    MPI_Type_dup(MPI_DOUBLE_INT, &pair);
    return pair;
  }());
  return all;
}

std::vector<char> pattern(std::size_t bytes, int seed) {
  std::vector<char> all(bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    all[i] = static_cast<char>(i * 31 + i / 251 + static_cast<std::size_t>(seed) * 17);
  return all;
}

std::size_t room_of(const Layout& layout, int count) {
  MPI_Aint low, extent, true_low, true_extent;
  MPI_Type_get_extent(layout.type, &low, &extent);
  MPI_Type_get_true_extent(layout.type, &true_low, &true_extent);
  return static_cast<std::size_t>(true_low + true_extent + extent * (count - 1)) + 64;
}

void packed(const Layout& layout, int count) {
  const std::size_t room = room_of(layout, count);
  int bytes = 0;
  MPI_Pack_size(count, layout.type, MPI_COMM_SELF, &bytes);
  const std::vector<char> from = pattern(room, rank), before = pattern(room, 5);
  std::vector<char> stream(static_cast<std::size_t>(bytes) + 3), into = before;
  int position = 3;
  MPI_Pack(from.data(), count, layout.type, stream.data(), bytes + 3, &position, MPI_COMM_SELF);
  position = 3;
  MPI_Unpack(stream.data(), bytes + 3, &position, into.data(), count, layout.type, MPI_COMM_SELF);

  gpu::Vector<char> gpu_from(from, any_kind()), gpu_into(before, any_kind());
  gpu::Vector<char> gpu_stream(std::vector<char>(stream.size()), any_kind());
  position = 3;
  MPI_Pack(gpu_from.data(), count, layout.type, gpu_stream.data(), bytes + 3, &position,
           MPI_COMM_SELF);
  CHECK(position == bytes + 3);
  CHECK(gpu_stream.get() == stream);
  position = 3;
  MPI_Unpack(gpu_stream.data(), bytes + 3, &position, gpu_into.data(), count, layout.type,
             MPI_COMM_SELF);
  const bool is_right = gpu_into.get() == into;
  CHECK(is_right);
  if (!is_right) std::fprintf(stderr, "rank %d: %s, %d of them\n", rank, layout.name, count);
}

void sent(const Layout& layout, const Layout& other, int count) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  int bytes = 0, each = 0;
  MPI_Type_size(layout.type, &each);
  MPI_Pack_size(count, layout.type, MPI_COMM_SELF, &bytes);
  const std::size_t room = room_of(layout, count);
  const bool by_bytes = &layout != &other;  // else the same layout at both ends
  gpu::Vector<char> out(pattern(room, rank), any_kind());
  const std::vector<char> before = pattern(by_bytes ? static_cast<std::size_t>(bytes) : room, 9);
  gpu::Vector<char> in(before, any_kind());
  MPI_Request request;
  if (by_bytes)
    MPI_Irecv(in.data(), bytes, MPI_PACKED, left, 1, MPI_COMM_WORLD, &request);
  else
    MPI_Irecv(in.data(), count, layout.type, left, 1, MPI_COMM_WORLD, &request);
  MPI_Send(out.data(), count, layout.type, right, 1, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  const std::vector<char> theirs = pattern(room, left);
  std::vector<char> stream(static_cast<std::size_t>(bytes)), expected = before;
  int position = 0;
  MPI_Pack(theirs.data(), count, layout.type, stream.data(), bytes, &position, MPI_COMM_SELF);
  if (by_bytes) {
    expected = stream;
  } else {
    position = 0;
    MPI_Unpack(stream.data(), bytes, &position, expected.data(), count, layout.type, MPI_COMM_SELF);
  }
  const bool is_right = in.get() == expected;
  CHECK(is_right);
  if (!is_right) std::fprintf(stderr, "rank %d: %s sent, %d of them\n", rank, layout.name, count);
}

void external() {
  for (int turn = 0; turn < 6; ++turn) {
    std::vector<double> values(500);
    std::iota(values.begin(), values.end(), 0.5);
    gpu::Vector<double> from(values, any_kind()), into(std::vector<double>(500), any_kind());
    gpu::Vector<char> stream(std::vector<char>(4000), any_kind());
    MPI_Aint position = 0;
    MPI_Pack_external("external32", from.data(), 500, MPI_DOUBLE, stream.data(), 4000, &position);
    CHECK(position == 4000);
    position = 0;
    MPI_Unpack_external("external32", stream.data(), 4000, &position, into.data(), 500, MPI_DOUBLE);
    CHECK(into.get() == values);
  }
}

// One type with addresses in itself, whose parts lie in memories of several kinds; and the same one
// with them counted from the first part's.
class Spread {
 public:
  Spread() {
    for (int i = 0; i < kParts; ++i) {
      parts_.push_back(std::make_unique<gpu::Vector<int>>(std::vector<int>(kRoom), any_kind()));
      lengths_.push_back(kLengths[i]);
      MPI_Aint place = 0;
      MPI_Get_address(parts_.back()->data() + i, &place);
      places_.push_back(place);
    }
    const std::vector<MPI_Datatype> types(kParts, MPI_INT);
    MPI_Type_create_struct(kParts, lengths_.data(), places_.data(), types.data(), &type);
    MPI_Type_commit(&type);
    std::vector<MPI_Aint> behind;
    for (const MPI_Aint place : places_) behind.push_back(MPI_Aint_diff(place, first()));
    MPI_Type_create_struct(kParts, lengths_.data(), behind.data(), types.data(), &behind_first);
    MPI_Type_commit(&behind_first);
  }
  ~Spread() {
    MPI_Type_free(&type);
    MPI_Type_free(&behind_first);
  }
  Spread(const Spread&) = delete;
  Spread& operator=(const Spread&) = delete;

  void put(int from) {
    for (int i = 0; i < kParts; ++i) {
      std::vector<int> all(kRoom);
      std::iota(all.begin(), all.end(), 100000 * from + 20000 * i);
      parts_[static_cast<std::size_t>(i)]->put(all);
    }
  }
  // Another rank's parts; what lies beside them was put here.
  bool has(int from, int here) {
    bool is_right = true;
    for (int i = 0; i < kParts; ++i) {
      const std::vector<int> got = parts_[static_cast<std::size_t>(i)]->get();
      for (int k = 0; k < kRoom; ++k) {
        const bool is_part = k >= i && k < i + kLengths[i];
        is_right = is_right && got[static_cast<std::size_t>(k)] ==
                                   100000 * (is_part ? from : here) + 20000 * i + k;
      }
    }
    return is_right;
  }
  MPI_Datatype type = MPI_DATATYPE_NULL, behind_first = MPI_DATATYPE_NULL;
  MPI_Aint first() const { return places_.front(); }

 private:
  static constexpr int kParts = 3, kRoom = 5000, kLengths[kParts] = {4000, 7, 3001};
  std::vector<std::unique_ptr<gpu::Vector<int>>> parts_;
  std::vector<int> lengths_;
  std::vector<MPI_Aint> places_;
};

void spread_messages(Spread& out, Spread& in) {
  const int right = (rank + 1) % size, left = (rank + size - 1) % size;
  out.put(rank);
  in.put(size);
  MPI_Sendrecv(MPI_BOTTOM, 1, out.type, right, 2, MPI_BOTTOM, 1, in.type, left, 2, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  CHECK(in.has(left, size));
  CHECK(out.has(rank, rank));
  MPI_Sendrecv_replace(MPI_BOTTOM, 1, out.type, right, 3, left, 3, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE);
  CHECK(out.has(left, rank));
  in.put(rank);
  int bytes = 0, at = 0;
  MPI_Pack_size(1, in.type, MPI_COMM_SELF, &bytes);
  gpu::Vector<char> packed(std::vector<char>(static_cast<std::size_t>(bytes)), any_kind());
  MPI_Pack(MPI_BOTTOM, 1, in.type, packed.data(), bytes, &at, MPI_COMM_SELF);
  out.put(size);
  MPI_Unpack(packed.data(), bytes, &(at = 0), MPI_BOTTOM, 1, out.type, MPI_COMM_SELF);
  CHECK(out.has(rank, size));
}

void spread_collectives(Spread& out, Spread& in) {
  out.put(rank);
  MPI_Bcast(MPI_BOTTOM, 1, out.type, size - 1, MPI_COMM_WORLD);
  CHECK(out.has(size - 1, rank));
  // Of blocks of many types: one to the right, one from the left.
  const auto p = static_cast<std::size_t>(size);
  std::vector<MPI_Count> gives(p), takes(p);
  gives[static_cast<std::size_t>((rank + 1) % size)] = 1;
  takes[static_cast<std::size_t>((rank + size - 1) % size)] = 1;
  for (int turn = 0; turn < 4; ++turn) {
    const bool waits = turn % 2 == 0, is_behind = turn / 2 == 0;
    const std::vector<MPI_Aint> there(p, is_behind ? out.first() : 0),
        here(p, is_behind ? in.first() : 0);
    const std::vector<MPI_Datatype> from(p, is_behind ? out.behind_first : out.type),
        into(p, is_behind ? in.behind_first : in.type);
    out.put(rank);
    in.put(size);
    MPI_Request request = MPI_REQUEST_NULL;
    if (waits)
      MPI_Alltoallw_c(MPI_BOTTOM, gives.data(), there.data(), from.data(), MPI_BOTTOM, takes.data(),
                      here.data(), into.data(), MPI_COMM_WORLD);
    else
      MPI_Ialltoallw_c(MPI_BOTTOM, gives.data(), there.data(), from.data(), MPI_BOTTOM,
                       takes.data(), here.data(), into.data(), MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(in.has((rank + size - 1) % size, size));
  }
}

void in_several_memories() {
  for (int turn = 0; turn < 4; ++turn) {
    Spread out, in;
    spread_messages(out, in);
    spread_collectives(out, in);
  }
}

}  // namespace

int main() {
  begin();
  gpu::begin();
  const std::vector<Layout> all = layouts();
  const Layout bytes{"bytes", MPI_PACKED};
  for (int turn = 0; turn < 3; ++turn)
    for (const Layout& layout : all)
      for (const int count : {1, 3, 200}) {
        packed(layout, count);
        sent(layout, layout, count);
        sent(layout, bytes, count);
      }
  external();
  in_several_memories();
  for (Layout layout : all) MPI_Type_free(&layout.type);
  return done();
}
