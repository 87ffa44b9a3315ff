// The first word of every object is its handle; the last reference destroys it.
#include "base/object.h"

#include <cstring>

#include "catch.h"

namespace {
class Thing final : public tutti::Object {
 public:
  explicit Thing(int* deaths, tutti::Handle handle = 0)
      : Object(tutti::ObjectKind::other, &Object::destroy_as<Thing>, handle), deaths_(deaths) {}
  ~Thing() { ++*deaths_; }

 private:
  int* deaths_;
};
}  // namespace

TEST_CASE("an object begins with the word that is its handle", "[base]") {
  int deaths = 0;
  auto own = tutti::Ref<Thing>::adopt(new Thing(&deaths));
  tutti::Handle first = 0;
  std::memcpy(&first, own.get(), sizeof first);
  CHECK(first == own->handle());
  CHECK(tutti::object_at<Thing>(first, tutti::ObjectKind::other) == own.get());
  CHECK(tutti::object_at<Thing>(first, tutti::ObjectKind::comm) == nullptr);
  auto fixed = tutti::Ref<Thing>::adopt(new Thing(&deaths, 0x101));
  std::memcpy(&first, fixed.get(), sizeof first);
  CHECK(first == 0x101);
  CHECK(fixed->is_predefined());
}

TEST_CASE("an object lives as long as its last reference", "[base]") {
  int deaths = 0;
  auto a = tutti::Ref<Thing>::adopt(new Thing(&deaths));
  {
    const auto b = a;
    a.reset();
    CHECK(deaths == 0);
  }
  CHECK(deaths == 1);
}
