// The table of attribute keys, and the values that objects carry.
#include "mpi/attributes.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "mpi/callback.h"
#include "mpi/trouble.h"

namespace tutti::mpi {
namespace {

struct Keyval {
  ObjectKind serves = ObjectKind::comm;
  CopyFunction copy = nullptr;
  DeleteFunction remove = nullptr;
  void* extra = nullptr;
  int uses = 0;        // values under this key on all objects, and its functions under way
  bool freed = false;  // by the user
};
// What an object's attributes point to; `order` says which came first. One whose delete function
// runs is going, and nobody else's to touch.
struct Value {
  void* value;
  std::int64_t order;
  bool is_going = false;
};

constexpr int kFirstKey = 0x1000;  // above the predefined keys

std::map<int, Keyval>& keys() {
  static auto& table = *new std::map<int, Keyval>;  // kept: see process.h
  return table;
}

Keyval* find_key(ObjectKind serves, int key) {
  const auto found = keys().find(key);
  return found == keys().end() || found->second.serves != serves ? nullptr : &found->second;
}

void unuse(int number) {
  Keyval& key = keys().at(number);
  if (--key.uses == 0 && key.freed) keys().erase(number);
}

// Keeps a key while one of its functions runs, which may free it.
class InUse {
 public:
  explicit InUse(int number) : number_(number), key_(keys().at(number)) {
    ++keys().at(number).uses;
  }
  ~InUse() { unuse(number_); }
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;
  const Keyval* operator->() const { return &key_; }

 private:
  int number_;
  Keyval key_;
};

Value* value_at(const Carrier& on, int number) {
  const auto found = on.values.find(number);
  return found == on.values.end() ? nullptr : static_cast<Value*>(found->second);
}

void store(const Carrier& on, int number, void* value) {
  static std::int64_t order = 0;
  on.values[number] = new Value{value, ++order};
  ++keys().at(number).uses;
}

// While its delete function runs.
class Going {
 public:
  explicit Going(Value& value) : value_(value) { value_.is_going = true; }
  ~Going() { value_.is_going = false; }
  Going(const Going&) = delete;
  Going& operator=(const Going&) = delete;

 private:
  Value& value_;
};

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
  keys()[++last] = Keyval{serves, copy, remove, extra, 0, false};
  return last;
}

bool is_key(ObjectKind serves, int key) {
  return find_key(serves, key) != nullptr;
}

Code free_key(ObjectKind serves, int number) {
  Keyval* const key = find_key(serves, number);  // one that is in use may be freed again
  if (key == nullptr)
    return refuse(Code::keyval, "key " + std::to_string(number) + " is not one of the user's");
  key->freed = true;
  if (key->uses == 0) keys().erase(number);
  return Code::ok;
}

Code drop_attribute(const Carrier& on, int number) {
  Value* const value = value_at(on, number);
  if (value == nullptr)
    return refuse(Code::keyval, "there is no value under key " + std::to_string(number));
  if (value->is_going)
    return refuse(Code::keyval,
                  "the value under key " + std::to_string(number) + " is being deleted already");
  const InUse key(number);
  if (key->remove != nullptr) {
    const int code = [&] {
      const Going until_end(*value);
      return call_user(key->remove, user_handle(on), number, value->value, key->extra);
    }();
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
  const InUse key(number);  // the old value's function may free it
  if (on.values.count(number) != 0)
    if (const Code code = drop_attribute(on, number); code != Code::ok) return code;
  store(on, number, value);
  return Code::ok;
}

bool get_attribute(const Carrier& on, int number, void** value) {
  const Value* const found = value_at(on, number);
  if (found != nullptr) *value = found->value;
  return found != nullptr;
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

namespace {

Code copy_attribute(const Carrier& from, const Carrier& to, int number) {
  const Value* const value = value_at(from, number);
  if (value == nullptr) return Code::ok;  // another key's function has deleted it
  const InUse key(number);
  if (is_null_function(key->copy)) return Code::ok;
  void* out = value->value;
  int flag = 1;
  if (!is_dup_function(key->copy)) {
    flag = 0;
    const int code = call_user(key->copy, user_handle(from), number, key->extra, value->value,
                               static_cast<void*>(&out), &flag);
    if (code != MPI_SUCCESS) return refuse(static_cast<Code>(code), "a copy function failed");
  }
  if (flag != 0) store(to, number, out);
  return Code::ok;
}

}  // namespace

Code copy_attributes(const Carrier& from, const Carrier& to) {
  std::vector<int> before;  // a copy function may delete and add others
  for (const auto& [number, value] : from.values) before.push_back(number);
  for (const int number : before) {
    const Code code = copy_attribute(from, to, number);
    if (code == Code::ok) continue;
    const Trouble why = std::exchange(trouble(), {});
    drop_all_attributes(to);  // the new object is never seen: its values go as they came
    trouble() = why;
    return code;
  }
  return Code::ok;
}

}  // namespace tutti::mpi
