// Sums of two-byte floats in GPU memory among more than two: they are float32 until the end, and
// become so, and two bytes again, on the GPU. Arguments: "direct" (nothing of what is waited for
// passes through host memory); "staged" (GPUs do not reach each other, so all does); "few" (each
// kernel that converts, for tools that watch it).
#include <mpi-ext.h>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "area.h"
#include "counted.h"
#include "either.h"

using namespace ranks;
using gpu::Kind;

namespace {

using Bits = std::uint16_t;

struct Format {
  const char* name;
  MPI_Datatype type;
  int digits, bias;  // behind the leading one; of the exponent
  int parts;         // numbers of an element

  // A whole number of so few digits.
  Bits bits(int number) const {
    int exponent = 0;
    while (number >> (exponent + 1) != 0) ++exponent;
    const int fraction = (number - (1 << exponent)) << digits >> exponent;
    return static_cast<Bits>((exponent + bias) << digits | fraction);
  }
  // The least whole number but one that it has not: two ones may be added to it, but not one.
  int large() const { return 2 << digits; }
};

// Odd ones show in which precision they are summed.
int number(const Format& format, int of, std::size_t i) {
  if (i % 2 == 0) return 1 + (of + static_cast<int>(i)) % 3;
  return of == 0 ? format.large() : 1;
}

// Of the ranks from 0 to `last`, four at most; rounded once, ties to even.
int sum(const Format& format, int last, std::size_t i) {
  if (i % 2 != 0) {
    const int added[] = {0, 0, 2, 4};
    return format.large() + added[last];
  }
  int all = 0;
  for (int of = 0; of <= last; ++of) all += number(format, of, i);
  return all;
}

struct Case {
  const char* name;
  bool is_block;  // the result is this rank's block
  std::function<int(const Bits* send, Bits* recv, int n, MPI_Datatype type, MPI_Request* request)>
      call;
  std::function<bool()> has_result;
  std::function<int()> last;
};

std::vector<Case> cases() {
  const auto always = [] { return true; };
  const auto all = [] { return size - 1; };
  return {
      {"allreduce", false,
       [](const Bits* send, Bits* recv, int n, MPI_Datatype type, MPI_Request* request) {
         return EITHER(Allreduce, allreduce, send, recv, n, type, MPI_SUM, MPI_COMM_WORLD);
       },
       always, all},
      {"reduce", false,
       [](const Bits* send, Bits* recv, int n, MPI_Datatype type, MPI_Request* request) {
         return EITHER(Reduce, reduce, send, recv, n, type, MPI_SUM, size - 1, MPI_COMM_WORLD);
       },
       [] { return rank == size - 1; }, all},
      {"scan", false,
       [](const Bits* send, Bits* recv, int n, MPI_Datatype type, MPI_Request* request) {
         return EITHER(Scan, scan, send, recv, n, type, MPI_SUM, MPI_COMM_WORLD);
       },
       always, [] { return rank; }},
      {"exscan", false,
       [](const Bits* send, Bits* recv, int n, MPI_Datatype type, MPI_Request* request) {
         return EITHER(Exscan, exscan, send, recv, n, type, MPI_SUM, MPI_COMM_WORLD);
       },
       [] { return rank > 0; }, [] { return rank - 1; }},
      {"reduce_scatter_block", true,
       [](const Bits* send, Bits* recv, int n, MPI_Datatype type, MPI_Request* request) {
         return EITHER(Reduce_scatter_block, reduce_scatter_block, send, recv, n / size, type,
                       MPI_SUM, MPI_COMM_WORLD);
       },
       always, all},
  };
}

struct Way {
  bool is_blocking, is_counted;
  std::size_t skip;  // numbers before the first one
};

void run(const Format& format, const Case& one, std::size_t elements, const Way& way) {
  const std::size_t numbers = elements * static_cast<std::size_t>(format.parts);
  std::vector<Bits> own(way.skip + numbers);
  for (std::size_t i = 0; i < numbers; ++i)
    own[way.skip + i] =
        format.bits(number(format, rank, i / static_cast<std::size_t>(format.parts)));
  const gpu::Vector<Bits> from(own, Kind::device);
  gpu::Vector<Bits> into(std::vector<Bits>(own.size()), Kind::device);
  CU(cuCtxSynchronize());
  MPI_Barrier(MPI_COMM_WORLD);
  const unsigned long long before = gpu::through_host();
  MPI_Request request;
  CHECK(one.call(from.data() + way.skip, into.data() + way.skip, static_cast<int>(elements),
                 format.type, way.is_blocking ? nullptr : &request) == MPI_SUCCESS);
  if (!way.is_blocking) MPI_Wait(&request, MPI_STATUS_IGNORE);
  const unsigned long long passed = gpu::through_host() - before;
  const std::vector<Bits> got = into.get();
  const std::size_t block = elements / static_cast<std::size_t>(size);
  const std::size_t results = one.is_block ? block : elements;
  bool is_right = true;
  for (std::size_t i = 0; one.has_result() && i < results * static_cast<std::size_t>(format.parts);
       ++i) {
    const std::size_t at = i / static_cast<std::size_t>(format.parts) +
                           (one.is_block ? block * static_cast<std::size_t>(rank) : 0);
    is_right = is_right && got[way.skip + i] == format.bits(sum(format, one.last(), at));
  }
  CHECK(is_right);
  const bool is_past_host = passed == 0 || !way.is_counted || !gpu::is_driver_counted();
  CHECK(is_past_host);
  if (!is_right || !is_past_host)
    std::fprintf(stderr, "rank %d: %s of %zu %s%s: %s, %llu bytes through host memory\n", rank,
                 one.name, elements, format.name, way.is_blocking ? "" : ", nonblocking",
                 is_right ? "right" : "wrong", passed);
}

bool is_same(const Format& format, Bits a, Bits b) {
  const int infinity = ((1 << (15 - format.digits)) - 1) << format.digits;
  const bool are_numbers = (a & 0x7fff) <= infinity && (b & 0x7fff) <= infinity;
  return are_numbers ? a == b : (a & 0x7fff) > infinity && (b & 0x7fff) > infinity;
}

// All there are, alone and in sums of two, as the processor has them.
void sweep(const Format& format, bool are_summed, bool is_counted) {
  std::vector<Bits> own(65536);
  for (std::size_t i = 0; i < own.size(); ++i)
    own[i] = rank == 0                 ? static_cast<Bits>(i)
             : rank == 1 && are_summed ? static_cast<Bits>(i * 40503U >> 3U)
                                       : Bits{0};
  std::vector<Bits> wanted(own.size());
  const gpu::Vector<Bits> from(own, Kind::device);
  gpu::Vector<Bits> into(std::vector<Bits>(own.size()), Kind::device);
  const int n = 65536 / format.parts;
  MPI_Allreduce(own.data(), wanted.data(), n, format.type, MPI_SUM, MPI_COMM_WORLD);
  CU(cuCtxSynchronize());
  const unsigned long long before = gpu::through_host();
  MPI_Allreduce(from.data(), into.data(), n, format.type, MPI_SUM, MPI_COMM_WORLD);
  if (is_counted) CHECK(gpu::through_host() == before);
  const std::vector<Bits> got = into.get();
  int different = 0;
  for (std::size_t i = 0; i < got.size(); ++i)
    different += is_same(format, got[i], wanted[i]) ? 0 : 1;
  CHECK(different == 0);
}

// In place; and blocks of other lengths, one of them empty, one of a single number.
void other_shapes(const Format& format) {
  const std::size_t n = 40000;
  std::vector<Bits> own(n * static_cast<std::size_t>(format.parts));
  for (std::size_t i = 0; i < own.size(); ++i)
    own[i] = format.bits(number(format, rank, i / static_cast<std::size_t>(format.parts)));
  gpu::Vector<Bits> both(own, Kind::device);
  MPI_Allreduce(MPI_IN_PLACE, both.data(), static_cast<int>(n), format.type, MPI_SUM,
                MPI_COMM_WORLD);
  const gpu::Vector<Bits> from(own, Kind::device);
  gpu::Vector<Bits> into(std::vector<Bits>(own.size()), Kind::device);
  std::vector<int> counts(static_cast<std::size_t>(size));
  counts[1] = 1;
  counts[2] = static_cast<int>(n) - 1;
  MPI_Reduce_scatter(from.data(), into.data(), counts.data(), format.type, MPI_SUM, MPI_COMM_WORLD);
  const std::vector<Bits> all = both.get(), mine = into.get();
  bool is_right = true;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t at = i / static_cast<std::size_t>(format.parts);
    is_right = is_right && all[i] == format.bits(sum(format, size - 1, at));
  }
  const std::size_t first = rank == 2 ? 1 : 0;
  const auto count = static_cast<std::size_t>(counts[static_cast<std::size_t>(rank)]);
  for (std::size_t i = 0; i < count * static_cast<std::size_t>(format.parts); ++i) {
    const std::size_t at = first + i / static_cast<std::size_t>(format.parts);
    is_right = is_right && mine[i] == format.bits(sum(format, size - 1, at));
  }
  CHECK(is_right);
}

}  // namespace

int main(int argc, char** argv) {
  ::setenv("TUTTI_SINGLE_COPY", "on", 0);  // of what could be read all is
  begin();
  gpu::begin();
  const std::string how = argc > 1 ? argv[1] : "direct";
  const bool is_direct = how == "direct";
  const Format formats[] = {{"float16", MPIX_C_FLOAT16, 10, 15, 1},
                            {"bfloat16", MPIX_BFLOAT16, 7, 127, 1},
                            {"complex of float16", MPI_COMPLEX4, 10, 15, 2}};
  if (how == "few") {
    for (const Format& format : formats)
      for (const std::size_t skip : {0, 1}) run(format, cases()[0], 60000, {true, false, skip});
    return done();
  }
  for (const Format& format : formats)
    for (const Case& one : cases()) {
      const std::size_t elements = 60000;
      run(format, one, elements, {true, false, 0});  // members find out how they reach each other
      run(format, one, elements, {true, is_direct, 0});
      run(format, one, elements, {true, is_direct, 1});
      run(format, one, elements, {false, false, 0});
      run(format, one, 12, {true, false, 0});
    }
  for (const Format& format : formats) {
    for (const bool are_summed : {false, true}) sweep(format, are_summed, is_direct);
    other_shapes(format);
  }
  // Of several parts.
  run(formats[1], cases()[0], (std::size_t{5} << 19) + 1, {true, is_direct, 0});
  return done();
}
