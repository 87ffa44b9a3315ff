// Chapter 10 (and the deprecated calls of chapter 16): info objects.
#include <cstring>

#include "bodies.h"
#include "mpi/checks.h"
#include "mpi/convert.h"
#include "mpi/trouble.h"

namespace tutti::mpi::body {
namespace {

Code bad_key() {
  return refuse(static_cast<Code>(MPI_ERR_INFO_KEY),
                "key is empty or longer than " + std::to_string(MPI_MAX_INFO_KEY - 1));
}
bool is_key(const char* key) {
  const std::size_t length = ::strnlen(key, MPI_MAX_INFO_KEY);
  return length > 0 && length < MPI_MAX_INFO_KEY;
}

}  // namespace

Code info_create(MPI_Info* info) {
  *info = handle_to(new Info(), MPI_INFO_NULL);
  return Code::ok;
}

Code info_create_env(int argc, char* argv[], MPI_Info* info) {
  auto* made = new Info();
  made->pairs = environment_info()->pairs;
  if (argc > 0 && argv != nullptr) set_command(*made, {argv, argv + argc});
  *info = handle_to(made, MPI_INFO_NULL);
  return Code::ok;
}

Code info_dup(Info& info, MPI_Info* newinfo) {
  auto* made = new Info();
  made->pairs = info.pairs;
  *newinfo = handle_to(made, MPI_INFO_NULL);
  return Code::ok;
}

Code info_free(MPI_Info* info) {
  const Info* const object = info_of(*info);
  if (object == nullptr || object->is_predefined())
    return refuse_to_free(static_cast<Code>(MPI_ERR_INFO), "info object", "info", bits_of(*info),
                          object);
  object->release();
  *info = MPI_INFO_NULL;
  return Code::ok;
}

Code info_set(Info& info, const char* key, const char* value) {
  if (!is_key(key)) return bad_key();
  if (::strnlen(value, MPI_MAX_INFO_VAL) >= MPI_MAX_INFO_VAL)
    return refuse(static_cast<Code>(MPI_ERR_INFO_VALUE),
                  "value is longer than " + std::to_string(MPI_MAX_INFO_VAL - 1));
  info.set(key, value);
  return Code::ok;
}

Code info_delete(Info& info, const char* key) {
  if (!is_key(key)) return bad_key();
  if (info.erase(key)) return Code::ok;
  return refuse(static_cast<Code>(MPI_ERR_INFO_NOKEY), "there is no key " + std::string(key));
}

Code info_get_nkeys(Info& info, int* nkeys) {
  *nkeys = static_cast<int>(info.pairs.size());
  return Code::ok;
}

Code info_get_nthkey(Info& info, int n, char* key) {
  if (n < 0 || static_cast<std::size_t>(n) >= info.pairs.size())
    return refuse(Code::arg, "n is " + std::to_string(n) + " of " +
                                 std::to_string(info.pairs.size()) + " keys");
  put_text(info.pairs[static_cast<std::size_t>(n)].first, key, MPI_MAX_INFO_KEY);
  return Code::ok;
}

// *buflen: room including the zero, or 0: only the length is wanted; afterwards what the whole
// value needs.
Code info_get_string(Info& info, const char* key, int* buflen, char* value, int* flag) {
  if (!is_key(key)) return bad_key();
  if (*buflen > 0 && value == nullptr) return refuse(Code::arg, "value is null");
  const std::string* const found = info.find(key);
  *flag = found != nullptr;
  if (found == nullptr) return Code::ok;
  if (*buflen > 0) put_text(*found, value, *buflen);
  *buflen = static_cast<int>(found->size()) + 1;
  return Code::ok;
}

Code info_get(Info& info, const char* key, int valuelen, char* value, int* flag) {
  if (!is_key(key)) return bad_key();
  if (valuelen < 0) return refuse(Code::arg, "valuelen is below zero");
  const std::string* const found = info.find(key);
  *flag = found != nullptr;
  if (found != nullptr) put_text(*found, value, valuelen + 1);
  return Code::ok;
}

Code info_get_valuelen(Info& info, const char* key, int* valuelen, int* flag) {
  if (!is_key(key)) return bad_key();
  const std::string* const found = info.find(key);
  *flag = found != nullptr;
  if (found != nullptr) *valuelen = static_cast<int>(found->size());
  return Code::ok;
}

}  // namespace tutti::mpi::body
