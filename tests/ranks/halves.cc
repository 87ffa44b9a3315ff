// Sums and products of two-byte floats are taken in float32 by the whole reduction, in every form
// and by every algorithm, and rounded once: values are chosen so that rounding at each step, as
// at any single step, gives another result.
#include <mpi-ext.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#include "check.h"

using namespace ranks;

namespace {

// The formats, as we know them from their definition: bits of the fraction and the bias.
struct Format {
  MPI_Datatype type;
  int fraction, bias;
};

// Of a positive normal number, to the nearest, ties to even.
std::uint16_t to_half(float value, const Format& format) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, 4);
  const int drop = 23 - format.fraction;
  const std::uint32_t odd = bits >> drop & 1U;
  bits += (1U << (drop - 1)) - 1 + odd;
  const std::uint32_t rebias = static_cast<std::uint32_t>(127 - format.bias) << 23;
  return static_cast<std::uint16_t>((bits - rebias) >> drop);
}

// Terms whose float32 sums are exact in any order. One rank has a large number, the others a
// quarter of its ulp or a little more: each alone is lost when it is added and rounded.
float term(int r, int i, const Format& format) {
  const auto large = static_cast<float>(1 << (format.fraction + 1 + i % 3));
  const auto ulp = static_cast<float>(1 << (1 + i % 3));
  return r == i % 5 % size ? large : ulp / 4 + (r == size - 1 ? ulp / 8 : 0);
}
// Factors a little above one.
float factor(int r, int i, const Format& format) {
  const float ulp = 1.0F / static_cast<float>(1 << format.fraction);
  return 1 + ulp * static_cast<float>(1 + (r + i) % 4);
}

// A reduction of `count` elements (blocks of it, where the result is scattered).
struct Call {
  const void* in;
  void* out;
  int count;
  MPI_Datatype type;
  MPI_Op op;
  MPI_Comm comm;
};
struct Form {
  const char* name;
  std::function<void(const Call&)> run;
  int first, last;  // whose values the result folds: ranks first .. last - 1
  int begin = 0;    // of the vector, where my result begins: blocks; kNothing: I get none
  int blocks = 1;   // in the vector
};
constexpr int kNothing = -1;

void finish(MPI_Request request) {
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
// Persistent: the second time must start from the buffers again, not from a result.
void start_and_free(MPI_Request request) {
  MPI_Start(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
}

struct Bounds {
  std::uint16_t low, high;
};
Bounds expected(const Form& form, bool is_sum, int i, const Format& format) {
  double all = is_sum ? 0 : 1;
  for (int r = form.first; r < form.last; ++r)
    all = is_sum ? all + static_cast<double>(term(r, i, format))
                 : all * static_cast<double>(factor(r, i, format));
  // Products in float32 depend a little on the order.
  const double loose = is_sum ? 0 : 2e-6;
  return {to_half(static_cast<float>(all * (1 - loose)), format),
          to_half(static_cast<float>(all * (1 + loose)), format)};
}

void check_form(const Form& form, Call call, const Format& format, bool in_place) {
  const bool is_sum = call.op == MPI_SUM;
  const int whole = form.blocks * call.count;
  std::vector<std::uint16_t> in, out(static_cast<std::size_t>(whole), 0x7e7e);
  for (int i = 0; i < whole; ++i)
    in.push_back(to_half(is_sum ? term(rank, i, format) : factor(rank, i, format), format));
  if (in_place) out = in;
  call.in = in_place ? MPI_IN_PLACE : in.data();
  call.out = out.data();
  form.run(call);
  if (form.begin == kNothing) return;
  int wrong = 0;
  for (int i = 0; i < call.count; ++i) {
    const Bounds bounds = expected(form, is_sum, form.begin * call.count + i, format);
    const std::uint16_t got = out[static_cast<std::size_t>(i)];
    if (got < bounds.low || got > bounds.high) ++wrong;
  }
  if (wrong > 0)
    std::fprintf(stderr, "rank %d: %s of %d%s: %d are wrong\n", rank, form.name, call.count,
                 in_place ? " in place" : "", wrong);
  CHECK(wrong == 0);
}

std::vector<Form> blocking() {
  std::vector<Form> forms = {
      {"allreduce",
       [](const Call& c) { MPI_Allreduce(c.in, c.out, c.count, c.type, c.op, c.comm); }, 0, size},
      {"scan", [](const Call& c) { MPI_Scan(c.in, c.out, c.count, c.type, c.op, c.comm); }, 0,
       rank + 1},
      {"exscan", [](const Call& c) { MPI_Exscan(c.in, c.out, c.count, c.type, c.op, c.comm); }, 0,
       rank, rank == 0 ? kNothing : 0},
      {"reduce",
       [](const Call& c) {
         const bool is_root = rank == size - 1;
         const void* const in = c.in == MPI_IN_PLACE && !is_root ? c.out : c.in;
         MPI_Reduce(in, is_root ? c.out : nullptr, c.count, c.type, c.op, size - 1, c.comm);
       },
       0, size, rank == size - 1 ? 0 : kNothing},
      {"reduce_scatter_block",
       [](const Call& c) { MPI_Reduce_scatter_block(c.in, c.out, c.count, c.type, c.op, c.comm); },
       0, size, rank, size},
      {"reduce_scatter",
       [](const Call& c) {
         const std::vector<int> counts(static_cast<std::size_t>(size), c.count);
         MPI_Reduce_scatter(c.in, c.out, counts.data(), c.type, c.op, c.comm);
       },
       0, size, rank, size},
  };
  return forms;
}

std::vector<Form> nonblocking() {
  std::vector<Form> forms = {
      {"iallreduce",
       [](const Call& c) {
         MPI_Request request;
         MPI_Iallreduce(c.in, c.out, c.count, c.type, c.op, c.comm, &request);
         finish(request);
       },
       0, size},
      {"iscan",
       [](const Call& c) {
         MPI_Request request;
         MPI_Iscan(c.in, c.out, c.count, c.type, c.op, c.comm, &request);
         finish(request);
       },
       0, rank + 1},
      {"iexscan",
       [](const Call& c) {
         MPI_Request request;
         MPI_Iexscan(c.in, c.out, c.count, c.type, c.op, c.comm, &request);
         finish(request);
       },
       0, rank, rank == 0 ? kNothing : 0},
      {"ireduce",
       [](const Call& c) {
         MPI_Request request;
         const void* const in = c.in == MPI_IN_PLACE && rank != 0 ? c.out : c.in;
         MPI_Ireduce(in, rank == 0 ? c.out : nullptr, c.count, c.type, c.op, 0, c.comm, &request);
         finish(request);
       },
       0, size, rank == 0 ? 0 : kNothing},
      {"ireduce_scatter_block",
       [](const Call& c) {
         MPI_Request request;
         MPI_Ireduce_scatter_block(c.in, c.out, c.count, c.type, c.op, c.comm, &request);
         finish(request);
       },
       0, size, rank, size},
      {"ireduce_scatter",
       [](const Call& c) {
         MPI_Request request;
         const std::vector<int> counts(static_cast<std::size_t>(size), c.count);
         MPI_Ireduce_scatter(c.in, c.out, counts.data(), c.type, c.op, c.comm, &request);
         finish(request);
       },
       0, size, rank, size},
  };
  return forms;
}

std::vector<Form> persistent() {
  std::vector<Form> forms = {
      {"allreduce_init",
       [](const Call& c) {
         MPI_Request request;
         MPI_Allreduce_init(c.in, c.out, c.count, c.type, c.op, c.comm, MPI_INFO_NULL, &request);
         if (c.in != MPI_IN_PLACE) {
           MPI_Start(&request);
           MPI_Wait(&request, MPI_STATUS_IGNORE);
         }
         start_and_free(request);
       },
       0, size},
      {"scan_init",
       [](const Call& c) {
         MPI_Request request;
         MPI_Scan_init(c.in, c.out, c.count, c.type, c.op, c.comm, MPI_INFO_NULL, &request);
         start_and_free(request);
       },
       0, rank + 1},
      {"exscan_init",
       [](const Call& c) {
         MPI_Request request;
         MPI_Exscan_init(c.in, c.out, c.count, c.type, c.op, c.comm, MPI_INFO_NULL, &request);
         start_and_free(request);
       },
       0, rank, rank == 0 ? kNothing : 0},
      {"reduce_init",
       [](const Call& c) {
         MPI_Request request;
         const void* const in = c.in == MPI_IN_PLACE && rank != 0 ? c.out : c.in;
         MPI_Reduce_init(in, c.out, c.count, c.type, c.op, 0, c.comm, MPI_INFO_NULL, &request);
         start_and_free(request);
       },
       0, size, rank == 0 ? 0 : kNothing},
      {"reduce_scatter_block_init",
       [](const Call& c) {
         MPI_Request request;
         MPI_Reduce_scatter_block_init(c.in, c.out, c.count, c.type, c.op, c.comm, MPI_INFO_NULL,
                                       &request);
         start_and_free(request);
       },
       0, size, rank, size},
      {"reduce_scatter_init",
       [](const Call& c) {
         MPI_Request request;
         const std::vector<int> counts(static_cast<std::size_t>(size), c.count);
         MPI_Reduce_scatter_init(c.in, c.out, counts.data(), c.type, c.op, c.comm, MPI_INFO_NULL,
                                 &request);
         start_and_free(request);
       },
       0, size, rank, size},
  };
  return forms;
}

// Between two groups, the halves of the world: each gets what the other one folds.
std::vector<Form> between() {
  const int half = size / 2;
  const bool is_low = rank < half;
  const int first = is_low ? half : 0;
  const int last = is_low ? size : half;
  const int own = is_low ? half : size - half;
  const int place = is_low ? rank : rank - half;
  std::vector<Form> forms = {
      {"allreduce between groups",
       [](const Call& c) { MPI_Allreduce(c.in, c.out, c.count, c.type, c.op, c.comm); }, first,
       last},
      {"reduce between groups",
       [=](const Call& c) {
         const int root = !is_low ? 0 : place == 0 ? MPI_ROOT : MPI_PROC_NULL;
         MPI_Reduce(c.in, c.out, c.count, c.type, c.op, root, c.comm);
       },
       first, last, is_low && place == 0 ? 0 : kNothing},
      {"reduce_scatter between groups",
       [=](const Call& c) {
         // Both groups fold as many elements; each deals them to its own members.
         const std::vector<int> counts(static_cast<std::size_t>(own),
                                       c.count * half * (size - half) / own);
         MPI_Reduce_scatter(c.in, c.out, counts.data(), c.type, c.op, c.comm);
       },
       first, last, kNothing, half * (size - half)},
  };
  forms.back().begin = own > 0 ? place * (half * (size - half) / own) : 0;
  return forms;
}

void check_all(const std::vector<Form>& forms, MPI_Comm comm, bool may_be_in_place) {
  const Format formats[] = {{MPIX_C_FLOAT16, 10, 15}, {MPIX_BFLOAT16, 7, 127}};
  for (const Format& format : formats)
    for (const Form& form : forms)
      for (const int count : {1, 33, format.fraction == 7 ? 20000 : 500})
        for (const MPI_Op op : {MPI_SUM, MPI_PROD})
          for (const bool in_place : {false, true})
            if (!in_place || may_be_in_place)
              check_form(form, {nullptr, nullptr, count, format.type, op, comm}, format, in_place);
}

}  // namespace

int main() {
  begin();
  check_all(blocking(), MPI_COMM_WORLD, true);
  check_all(nonblocking(), MPI_COMM_WORLD, true);
  check_all(persistent(), MPI_COMM_WORLD, true);
  if (size > 1) {
    MPI_Comm half, inter;
    const bool is_low = rank < size / 2;
    MPI_Comm_split(MPI_COMM_WORLD, is_low, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, is_low ? size / 2 : 0, 1, &inter);
    check_all(between(), inter, false);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
  }
  return done();
}
