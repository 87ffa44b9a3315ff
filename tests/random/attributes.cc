// Attributes: values that count who copies and deletes them, and callbacks that do what they may.
#include <algorithm>
#include <map>
#include <mutex>
#include <set>

#include "random.h"

namespace program {
namespace {

enum class Way {
  copies,        // a new value in the copy
  stays,         // not copied
  kills,         // its copy callback deletes another attribute of the old communicator
  frees_key,     // its copy callback frees its own key
  vanishes,      // the same, and deletes its own attribute of the old communicator
  refuses,       // its copy callback fails
  delete_kills,  // its delete callback deletes another attribute of the same communicator
  delete_refuses_once
};

struct Key {
  int keyval = MPI_KEYVAL_INVALID;
  Way way = Way::copies;
  int victim = MPI_KEYVAL_INVALID;
  bool refused = false;
};

struct Value {
  Key* key;
};

// Of this thread: a communicator's callbacks run in the thread that copies or frees it.
thread_local std::set<Value*> living;
thread_local std::vector<std::unique_ptr<Key>> keys;                     // of the episode
thread_local std::map<std::pair<const Node*, const Key*>, Value*> hung;  // what this rank set

Value* make_value(Key* key) {
  auto* value = new Value{key};
  living.insert(value);
  return value;
}

int copy(MPI_Comm old, int, void*, void* value, void* copied, int* flag) {
  auto* const from = static_cast<Value*>(value);
  RIGHT(living.count(from) == 1);
  Key& key = *from->key;
  if (key.way == Way::stays) return MPI_SUCCESS;
  if (key.way == Way::refuses) return MPI_ERR_OTHER;
  if (key.way == Way::kills) OK(MPI_Comm_delete_attr(old, key.victim));
  if (key.way == Way::vanishes) OK(MPI_Comm_delete_attr(old, key.keyval));
  if ((key.way == Way::frees_key || key.way == Way::vanishes) && key.keyval != MPI_KEYVAL_INVALID)
    OK(MPI_Comm_free_keyval(&key.keyval));
  *static_cast<void**>(copied) = make_value(&key);
  *flag = 1;
  return MPI_SUCCESS;
}

int drop(MPI_Comm comm, int, void* value, void*) {
  auto* const from = static_cast<Value*>(value);
  RIGHT(living.count(from) == 1);
  Key& key = *from->key;
  if (key.way == Way::delete_refuses_once && !key.refused) {
    key.refused = true;
    return MPI_ERR_OTHER;
  }
  living.erase(from);
  if (key.way == Way::delete_kills) {
    void* other = nullptr;
    int flag = 0;
    OK(MPI_Comm_get_attr(comm, key.victim, &other, &flag));
    if (flag != 0) OK(MPI_Comm_delete_attr(comm, key.victim));
  }
  delete from;
  return MPI_SUCCESS;
}

std::unique_ptr<Key> make_key(Way way) {
  auto key = std::make_unique<Key>();
  key->way = way;
  OK(MPI_Comm_create_keyval(copy, drop, &key->keyval, key.get()));
  return key;
}

Value* value_on(MPI_Comm comm, int keyval) {
  void* value = nullptr;
  int flag = 0;
  OK(MPI_Comm_get_attr(comm, keyval, &value, &flag));
  if (flag == 0) return nullptr;
  RIGHT(living.count(static_cast<Value*>(value)) == 1);
  return static_cast<Value*>(value);
}

}  // namespace

void open_keys() {
  for (int i = 0; i < 4; ++i) keys.push_back(make_key(i % 2 == 0 ? Way::copies : Way::stays));
}

// Values on communicators that are never freed stay; their keys' callbacks are still called.
void close_keys() {
  static std::vector<std::unique_ptr<Key>> old;
  static std::mutex turns;
  const std::lock_guard one_at_a_time(turns);
  for (auto& key : keys) {
    OK(MPI_Comm_free_keyval(&key->keyval));
    old.push_back(std::move(key));
  }
  keys.clear();
  hung.clear();
}

void set_attributes() {
  Node* node = world->pick([](const Node& one) { return !one.is_root; });
  const int which = world->plan.below(4);
  const bool deletes = world->plan.one_in(4);
  if (node == nullptr || !node->has(world->rank)) return;
  Key* const key = keys[as_size(which)].get();
  Value*& mine = hung[{node, key}];
  if (deletes && mine != nullptr) {
    OK(MPI_Comm_delete_attr(node->comm, key->keyval));
    RIGHT(living.count(mine) == 0);
    mine = nullptr;
    return;
  }
  Value* const before = mine;
  mine = make_value(key);
  OK(MPI_Comm_set_attr(node->comm, key->keyval, mine));
  RIGHT(living.count(before) == 0);
}

void look_at_attributes() {
  Node* node = world->pick([](const Node&) { return true; });
  if (!node->has(world->rank)) return;
  for (const auto& key : keys) {
    const auto found = hung.find({node, key.get()});
    RIGHT(value_on(node->comm, key->keyval) == (found == hung.end() ? nullptr : found->second));
  }
}

void copied_attributes(const Node& from, Node& made) {
  if (!made.has(world->rank)) return;
  for (const auto& key : keys) {
    Value* const copied = value_on(made.comm, key->keyval);
    const auto found = hung.find({&from, key.get()});
    const bool was = found != hung.end() && found->second != nullptr;
    RIGHT((copied != nullptr) == (was && key->way == Way::copies));
    if (copied == nullptr) continue;
    RIGHT(copied != found->second);
    hung[{&made, key.get()}] = copied;
  }
}

// A nonblocking copy: what its original had when it was begun.
void taken_attributes(Node& made) {
  if (!made.has(world->rank)) return;
  for (const auto& key : keys) {
    Value* const copied = value_on(made.comm, key->keyval);
    RIGHT(copied == nullptr || key->way == Way::copies);
    if (copied != nullptr) hung[{&made, key.get()}] = copied;
  }
}

// The communicator was freed, and with it all its values.
void forget_attributes(const Node& node) {
  for (auto at = hung.begin(); at != hung.end();) {
    if (at->first.first != &node) {
      ++at;
      continue;
    }
    RIGHT(at->second == nullptr || living.count(at->second) == 0);
    at = hung.erase(at);
  }
}

// One mean key among plain ones, on a communicator of their own that is copied and freed.
void mean_attributes() {
  Node* node = world->pick_intra();
  const auto way = static_cast<Way>(world->plan.between(2, 7));
  const int others = world->plan.between(1, 6);
  const int place = world->plan.below(others + 1);
  const int victim = world->plan.below(others);
  if (!node->has(world->rank)) return;
  std::vector<std::unique_ptr<Key>> set;
  std::unique_ptr<Key> mean;
  for (int i = 0; i <= others; ++i) {  // values are copied in the order of their keys
    if (i == place) mean = make_key(way);
    if (i < others) set.push_back(make_key(Way::copies));
  }
  mean->victim = set[as_size(victim)]->keyval;
  const std::size_t before = living.size();

  MPI_Comm from, to = MPI_COMM_NULL;
  OK(MPI_Comm_split(node->comm, 0, 0, &from));
  OK(MPI_Comm_set_errhandler(from, MPI_ERRORS_RETURN));
  for (int i = 0; i <= others; ++i) {
    if (i == place) OK(MPI_Comm_set_attr(from, mean->keyval, make_value(mean.get())));
    if (i < others)
      OK(MPI_Comm_set_attr(from, set[as_size(i)]->keyval, make_value(set[as_size(i)].get())));
  }
  const int code = MPI_Comm_dup(from, &to);
  RIGHT((code != MPI_SUCCESS) == (way == Way::refuses));
  for (int i = 0; i < others; ++i) {
    const bool is_killed = way == Way::kills && i == victim;
    Value* const own = value_on(from, set[as_size(i)]->keyval);
    RIGHT((own == nullptr) == is_killed);
    if (code != MPI_SUCCESS) continue;
    Value* const copied = value_on(to, set[as_size(i)]->keyval);  // alive, if there
    RIGHT(is_killed || copied != nullptr);
    RIGHT(copied == nullptr || copied != own);
  }
  if (way == Way::delete_refuses_once) {
    RIGHT(MPI_Comm_delete_attr(from, mean->keyval) != MPI_SUCCESS);
    RIGHT(mean->refused);
  }
  if (code == MPI_SUCCESS) OK(MPI_Comm_free(&to));
  OK(MPI_Barrier(from));
  OK(MPI_Comm_free(&from));
  RIGHT(living.size() == before);
  for (auto& key : set) OK(MPI_Comm_free_keyval(&key->keyval));
  if (mean->keyval != MPI_KEYVAL_INVALID) OK(MPI_Comm_free_keyval(&mean->keyval));
}

}  // namespace program
