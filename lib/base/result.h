// Result<T>: a value, or an Error that says what failed, in words a user can act on.
//
// "It failed" travels as a value (docs/decisions/0003). Codes carry the numbers of the MPI error
// classes (MPI 5.0, 9.4), so that the bindings need no table; below the bindings they mean
// what their names say.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

namespace tutti {

enum class Code : int {
  ok = 0,
  buffer = 1,
  count = 2,
  type = 3,
  tag = 4,
  comm = 5,
  rank = 6,
  request = 7,
  root = 8,
  group = 9,
  op = 10,
  topology = 11,
  dims = 12,
  arg = 13,
  unknown = 14,
  truncate = 15,
  other = 16,
  intern = 17,
  pending = 18,
  in_status = 19,
  access = 20,
  keyval = 36,
  no_mem = 39,
  spawn = 53,
  unsupported = 55,
  proc_aborted = 58,
  value_too_large = 59,
  session = 60,
  errhandler = 61,
};

struct Error {
  Code code = Code::other;
  std::string text;  // what happened, where, what to try; one line
};

template <class T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(Code code, std::string text) {
  return tl::unexpected<Error>(Error{code, std::move(text)});
}

}  // namespace tutti

#define TUTTI_CONCAT_(a, b) a##b
#define TUTTI_CONCAT(a, b) TUTTI_CONCAT_(a, b)

// TUTTI_TRY(name, expression): name is the value, or the function returns the error.
#define TUTTI_TRY(name, ...)                                                        \
  auto TUTTI_CONCAT(tutti_try_, __LINE__) = (__VA_ARGS__);                          \
  if (!TUTTI_CONCAT(tutti_try_, __LINE__))                                          \
    return tl::unexpected<::tutti::Error>(                                          \
        std::move(TUTTI_CONCAT(tutti_try_, __LINE__)).error());                     \
  auto name = std::move(*TUTTI_CONCAT(tutti_try_, __LINE__))

// TUTTI_DO(expression): returns the error of a Result<void>, or goes on.
#define TUTTI_DO(...)                                                               \
  if (auto tutti_do = (__VA_ARGS__); !tutti_do)                                     \
  return tl::unexpected<::tutti::Error>(std::move(tutti_do).error())
