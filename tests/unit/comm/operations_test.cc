// Predefined operations on many types: the delegate and schedules give what folding in rank
// order gives.
#include <cstring>

#include "ranks.h"

namespace {

using namespace tutti;
using test::Rank;
using types::Count;

constexpr Handle kOps[] = {0x21, 0x22, 0x23, 0x24, 0x28, 0x29, 0x2a, 0x30, 0x31, 0x32, 0x38, 0x39};

std::vector<types::Datatype*> all_types() {
  std::vector<types::Datatype*> types;
  for (Handle handle = types::kFirstType; handle <= types::kLastType; ++handle)
    if (types::Datatype* type = types::predefined_type(handle); type != nullptr && type->size() > 0)
      types.push_back(type);
  return types;
}

// Small numbers, so that sums and products are exact in every order and type.
void fill(std::vector<std::byte>& bytes, const types::Datatype& type, int rank) {
  std::fill(bytes.begin(), bytes.end(), std::byte{0});
  const Count elements = static_cast<Count>(bytes.size()) / type.extent();
  for (Count e = 0; e < elements; ++e) {
    std::byte* at = bytes.data() + e * type.extent();
    const int value = static_cast<int>((rank + e) % 3 + (e % 2));
    switch (type.element()) {
      case types::Element::float32: {
        const float f = static_cast<float>(value);
        std::memcpy(at, &f, sizeof f);
        break;
      }
      case types::Element::float64: {
        const double f = value;
        std::memcpy(at, &f, sizeof f);
        break;
      }
      case types::Element::float_long: {
        const long double f = value;
        std::memcpy(at, &f, sizeof f);
        break;
      }
      case types::Element::double_int: {
        const double f = value;
        std::memcpy(at, &f, sizeof f);
        std::memcpy(at + sizeof f, &rank, sizeof rank);
        break;
      }
      default:  // integers, logicals, bytes: the lowest byte; others stay zero
        at[0] = static_cast<std::byte>(value);
        break;
    }
  }
}

// Long doubles have bytes that mean nothing.
bool is_same(const std::vector<std::byte>& a, const std::vector<std::byte>& b,
             const types::Datatype& type) {
  const bool padded = type.element() == types::Element::float_long ||
                      type.element() == types::Element::complex_long;
  if (!padded) return a == b;
  constexpr std::size_t kValue = 10;
  for (std::size_t at = 0; at < a.size(); at += sizeof(long double))
    if (std::memcmp(a.data() + at, b.data() + at, kValue) != 0) return false;
  return true;
}

void try_all(const Rank& me, const char* how, Count count) {
  comm::force(me.comm, how);
  for (types::Datatype* type : all_types())
    for (const Handle handle : kOps) {
      const types::Op& op = *types::predefined_op(handle);
      if (!op.accepts(*type)) continue;
      const auto bytes = static_cast<std::size_t>(count * type->extent());
      std::vector<std::byte> mine(bytes), got(bytes), wanted(bytes), next(bytes);
      fill(mine, *type, me.rank);
      fill(wanted, *type, 0);
      fill(got, *type, me.rank);
      for (int r = 1; r < me.size; ++r) {
        fill(next, *type, r);
        op.fold(wanted.data(), next.data(), count, *type);
        wanted = next;
      }
      comm::CollCall call;
      call.collective = coll::Collective::allreduce;
      call.send = mine.data();
      call.recv = got.data();
      call.recv_count = count;
      call.recv_type = type;
      call.op = &op;
      me.expect(comm::run(me.comm, call) == Code::ok && is_same(got, wanted, *type),
                std::string(how) + ", type " + type->name() + ", op " + std::to_string(handle));
    }
  comm::force(me.comm, "");
}

}  // namespace

TEST_CASE("every predefined operation is right on every type it accepts", "[comm]") {
  test::run_ranks(test::one_host(3), [](const Rank& me) {
    for (const Count count : {1, 40, 5000}) {
      try_all(me, "", count);
      try_all(me, "allreduce=shm", count);
      try_all(me, "allreduce=recursive_doubling", count);
      try_all(me, "allreduce=ring", count);
    }
  });
}
