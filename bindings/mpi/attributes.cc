// The table of attribute keys, and the values that objects carry.
#include "mpi/attributes.h"

#include <algorithm>
#include <vector>

#include "mpi/trouble.h"

namespace tutti::mpi {
namespace {

struct Key {
  ObjectKind serves = ObjectKind::comm;
  CopyFunction copy = nullptr;
  DeleteFunction remove = nullptr;
  void* extra = nullptr;
  int uses = 0;        // values under this key, on all objects
  bool freed = false;  // by the user
};
// What an object's attributes point to; `order` says which came first.
struct Value {
  void* value;
  std::int64_t order;
};

constexpr int kFirstKey = 0x1000;  // above the predefined keys

std::map<int, Key>& keys() {
  static auto& table = *new std::map<int, Key>;  // kept: see process.h
  return table;
}

Key* find_key(ObjectKind serves, int key) {
  const auto found = keys().find(key);
  return found == keys().end() || found->second.serves != serves ? nullptr : &found->second;
}

void unuse(int number) {
  Key& key = keys().at(number);
  if (--key.uses == 0 && key.freed) keys().erase(number);
}

void store(const Carrier& on, int number, void* value) {
  static std::int64_t order = 0;
  on.values[number] = new Value{value, ++order};
  ++keys().at(number).uses;
}

// Null and dup functions are the numbers 0 and 1 (standard ABI).
bool is_null_function(CopyFunction copy) {
  return copy == nullptr;
}
bool is_dup_function(CopyFunction copy) {
  return reinterpret_cast<std::uintptr_t>(copy) ==
         reinterpret_cast<std::uintptr_t>(MPI_COMM_DUP_FN);
}

void* user_handle(const Carrier& on) {
  return reinterpret_cast<void*>(on.handle);
}

}  // namespace

int create_key(ObjectKind serves, CopyFunction copy, DeleteFunction remove, void* extra) {
  static int last = kFirstKey;
  keys()[++last] = Key{serves, copy, remove, extra, 0, false};
  return last;
}

bool is_key(ObjectKind serves, int key) {
  return find_key(serves, key) != nullptr;
}

Code free_key(ObjectKind serves, int number) {
  Key* const key = find_key(serves, number);  // one that is in use may be freed again
  if (key == nullptr)
    return refuse(Code::keyval, "key " + std::to_string(number) + " is not one of the user's");
  key->freed = true;
  if (key->uses == 0) keys().erase(number);
  return Code::ok;
}

Code drop_attribute(const Carrier& on, int number) {
  const auto found = on.values.find(number);
  if (found == on.values.end())
    return refuse(Code::keyval, "there is no value under key " + std::to_string(number));
  const Key key = keys().at(number);
  auto* const value = static_cast<Value*>(found->second);
  if (key.remove != nullptr) {
    const int code = key.remove(user_handle(on), number, value->value, key.extra);
    if (code != MPI_SUCCESS) return refuse(static_cast<Code>(code), "a delete function failed");
  }
  delete value;
  on.values.erase(number);
  unuse(number);
  return Code::ok;
}

Code set_attribute(const Carrier& on, int number, void* value) {
  if (!is_key(on.kind, number))
    return refuse(Code::keyval, "key " + std::to_string(number) + " is not for such an object");
  if (on.values.count(number) != 0)
    if (const Code code = drop_attribute(on, number); code != Code::ok) return code;
  store(on, number, value);
  return Code::ok;
}

bool get_attribute(const Carrier& on, int number, void** value) {
  const auto found = on.values.find(number);
  if (found == on.values.end()) return false;
  *value = static_cast<const Value*>(found->second)->value;
  return true;
}

Code drop_all_attributes(const Carrier& on) {
  while (!on.values.empty()) {
    const auto newest =
        std::max_element(on.values.begin(), on.values.end(), [](const auto& a, const auto& b) {
          return static_cast<const Value*>(a.second)->order <
                 static_cast<const Value*>(b.second)->order;
        });
    if (const Code code = drop_attribute(on, newest->first); code != Code::ok) return code;
  }
  return Code::ok;
}

Code copy_attributes(const Carrier& from, const Carrier& to) {
  const std::map<int, void*> before = from.values;  // a copy function may change it
  for (const auto& [number, stored] : before) {
    const Key key = keys().at(number);
    void* const in = static_cast<const Value*>(stored)->value;
    if (is_null_function(key.copy)) continue;
    void* out = in;
    int flag = 1;
    if (!is_dup_function(key.copy)) {
      flag = 0;
      const int code = key.copy(user_handle(from), number, key.extra, in, &out, &flag);
      if (code != MPI_SUCCESS) return refuse(static_cast<Code>(code), "a copy function failed");
    }
    if (flag != 0) store(to, number, out);
  }
  return Code::ok;
}

}  // namespace tutti::mpi
