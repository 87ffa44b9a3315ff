// A slot's handle is good from take() or renew() to give() or retire(), and no other word is.
#include "base/slots.h"

#include <random>
#include <set>
#include <thread>
#include <vector>

#include "catch.h"

namespace slots = tutti::slots;
using tutti::Handle;

TEST_CASE("a handle is found while its slot is in use, and never again", "[base]") {
  void* const object = slots::take();
  const Handle first = slots::handle_of(object);
  CHECK(slots::find(first) == object);
  CHECK(slots::object_of(first) == object);
  slots::give(object);
  CHECK(slots::find(first) == nullptr);
  void* const again = slots::take();
  CHECK(again == object);  // the latest one that was freed
  CHECK(slots::handle_of(again) != first);
  CHECK(slots::find(first) == nullptr);
  CHECK(slots::find(slots::handle_of(again)) == again);
  slots::give(again);
}

TEST_CASE("a slot has millions of handles, one after the other", "[base]") {
  void* const object = slots::take();
  const Handle first = slots::handle_of(object);
  bool all_differ = true, all_named = true;
  Handle last = first;
  for (int life = 0; life < 3'000'000; ++life) {
    slots::retire(object);
    all_differ = all_differ && slots::find(last) == nullptr;
    slots::renew(object);
    last = slots::handle_of(object);
    all_differ = all_differ && last != first && slots::find(first) == nullptr;
    all_named = all_named && slots::object_of(last) == object && last >= 0x400;
  }
  CHECK(all_differ);
  CHECK(all_named);
  slots::give(object);
}

TEST_CASE("no other word is a handle", "[base]") {
  std::vector<void*> live;
  std::set<Handle> handles;
  for (int i = 0; i < 1000; ++i) {
    live.push_back(slots::take());
    handles.insert(slots::handle_of(live.back()));
  }
  const Handle some = slots::handle_of(live[500]);
  std::mt19937_64 random(1);
  int wrong = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    const Handle noise = random();
    for (const Handle word :
         {noise, some ^ (Handle{1} << (noise & 63)), (some & slots::kAddress) | (noise & 0xff),
          (some & slots::kAddress) + (noise & 0xfffff), noise & 0xffff,
          (noise & ~slots::kAddress) | (some & slots::kAddress)})
      wrong += slots::find(word) != nullptr && handles.count(word) == 0;
  }
  CHECK(wrong == 0);
  for (void* object : live) slots::give(object);
}

TEST_CASE("slots have numbers", "[base]") {
  void* const object = slots::take();
  const Handle handle = slots::handle_of(object);
  const int number = slots::number_of(handle);
  CHECK(number > 0);
  CHECK(slots::handle_at(number) == handle);
  slots::give(object);
  CHECK(slots::number_of(handle) == 0);
  CHECK(slots::handle_at(number) == 0);
  for (const int none : {0, -1, 1 << 30}) CHECK(slots::handle_at(none) == 0);
}

TEST_CASE("threads take and give slots at once", "[base]") {
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&wrong, t] {
      std::vector<void*> mine;
      for (int i = 0; i < 20'000; ++i) {
        mine.push_back(slots::take());
        *static_cast<int*>(mine.back()) = t;
        if (i % 3 != 0) continue;
        void* const one = mine[mine.size() / 2];
        wrong += *static_cast<int*>(one) != t || slots::find(slots::handle_of(one)) != one;
        slots::give(one);
        mine[mine.size() / 2] = mine.back();
        mine.pop_back();
      }
      for (void* object : mine) slots::give(object);
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}
