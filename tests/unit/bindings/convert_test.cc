// Values at the border: statuses, counts, strings, levels, error classes, elements.
#include "mpi/convert.h"

#include <cstring>
#include <limits>

#include "catch.h"
#include "mpi/errors.h"
#include "mpi/widen.h"

using namespace tutti;
using namespace tutti::mpi;

TEST_CASE("a status keeps 64-bit byte counts and the flag in its first 12 private bytes",
          "[bindings]") {
  MPI_Status status;
  std::memset(&status, 0x5a, sizeof status);
  const std::int64_t bytes = (std::int64_t{1} << 40) + 3;
  put_status({3, 9, Code::truncate, true, bytes}, &status);
  CHECK(status.MPI_SOURCE == 3);
  CHECK(status.MPI_TAG == 9);
  CHECK(bytes_in(status) == bytes);
  CHECK(is_cancelled(status));
  CHECK(status.MPI_ERROR == 0x5a5a5a5a);  // single completions leave it alone
  CHECK(status.MPI_internal[3] == 0x5a5a5a5a);
  CHECK(status.MPI_internal[4] == 0x5a5a5a5a);
}

TEST_CASE("the empty status is what the standard says", "[bindings]") {
  MPI_Status status;
  put_empty_status(&status);
  CHECK(status.MPI_SOURCE == MPI_ANY_SOURCE);
  CHECK(status.MPI_TAG == MPI_ANY_TAG);
  CHECK(status.MPI_ERROR == MPI_SUCCESS);
  CHECK(bytes_in(status) == 0);
  CHECK_FALSE(is_cancelled(status));
  put_empty_status(MPI_STATUS_IGNORE);
}

namespace {

// What windows and files will be: objects of a kind of their own.
struct Thing final : Object {
  explicit Thing(ObjectKind kind) : Object(kind, &Object::destroy_as<Thing>) {}
};
template <class UserHandle>
UserHandle handle_for(const Object& object) {
  return reinterpret_cast<UserHandle>(object.handle());
}

}  // namespace

TEST_CASE("windows and files are told apart from all else and from each other", "[bindings]") {
  CHECK(window_of(MPI_WIN_NULL) == nullptr);
  CHECK(file_of(MPI_FILE_NULL) == nullptr);
  auto window = Ref<Thing>::adopt(new Thing(ObjectKind::window));
  const auto file = Ref<Thing>::adopt(new Thing(ObjectKind::file));
  CHECK(window_of(handle_for<MPI_Win>(*window)) == window.get());
  CHECK(file_of(handle_for<MPI_File>(*file)) == file.get());
  CHECK(window_of(handle_for<MPI_Win>(*file)) == nullptr);
  CHECK(file_of(handle_for<MPI_File>(*window)) == nullptr);
  CHECK(comm_of(handle_for<MPI_Comm>(*window)) == nullptr);
  CHECK(info_of(handle_for<MPI_Info>(*file)) == nullptr);
  const auto stale = handle_for<MPI_Win>(*window);
  window.reset();
  CHECK(window_of(stale) == nullptr);
}

TEST_CASE("int arrays become 64-bit numbers, few and many, and 64-bit ones pass through",
          "[bindings]") {
  for (Count n : {0, 1, 64, 65, 1000}) {
    std::vector<int> numbers;
    for (int i = 0; i < n; ++i) numbers.push_back(-i);
    const WidenedCounts wide(numbers.data(), n);
    REQUIRE(wide.span().size() == static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < wide.span().size(); ++i)
      CHECK(wide.span()[i] == -static_cast<Count>(i));
  }
  const Count given[] = {5, 6};
  CHECK(WidenedCounts(given, 2).span().data() == given);
  CHECK(WidenedCounts(static_cast<const int*>(nullptr), 7).span().empty());
}

TEST_CASE("a number that an int cannot hold is undefined", "[bindings]") {
  const Count most = std::numeric_limits<int>::max();
  CHECK(narrow(most) == most);
  CHECK(narrow(most + 1) == MPI_UNDEFINED);
  CHECK(narrow(-most - 1) == -most - 1);
  CHECK(narrow(-most - 2) == MPI_UNDEFINED);
}

TEST_CASE("text is cut to the room there is and always ends with a zero", "[bindings]") {
  char room[4] = {1, 1, 1, 1};
  CHECK(put_text("kettle", room, 4) == 3);
  CHECK(std::string(room) == "ket");
  CHECK(put_text("", room, 4) == 0);
  CHECK(put_text("x", room, 0) == 0);
}

TEST_CASE("thread levels go over and back", "[bindings]") {
  for (int level :
       {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE})
    CHECK(level_to_mpi(level_from_mpi(level)) == level);
}

TEST_CASE("every error class describes itself and is its own class", "[bindings]") {
  for (int code = MPI_SUCCESS; code <= MPI_ERR_ABI; ++code) {
    CHECK(std::string(class_name(code)).substr(0, 4) == "MPI_");
    CHECK(describe(code).size() > 12);
    CHECK(class_of(code) == code);
  }
  CHECK(describe(9999).empty());
  CHECK_FALSE(class_of(9999).has_value());
}

TEST_CASE("a user's class can be removed when no code is of it", "[bindings]") {
  const int error_class = add_class();
  const auto code = add_code(error_class);
  REQUIRE(code.has_value());
  CHECK(class_of(*code) == error_class);
  CHECK_FALSE(remove_code(error_class, true));
  CHECK_FALSE(remove_code(*code, true));
  CHECK(remove_code(*code, false));
  CHECK(remove_code(error_class, true));
  CHECK_FALSE(class_of(error_class).has_value());
  CHECK_FALSE(add_code(12345).has_value());
}

TEST_CASE("elements of a partial message are counted down the type's making", "[bindings]") {
  types::Datatype& int32 = *type_of(MPI_INT);
  types::Datatype& float64 = *type_of(MPI_DOUBLE);
  types::Datatype* olds[] = {&int32, &float64};
  const Count blocks[] = {3, 2}, places[] = {0, 16};
  const auto pair = types::make_struct(blocks, places, olds);
  REQUIRE(pair);
  const auto many = types::make_vector(2, 2, 5, **pair);
  REQUIRE(many);
  CHECK((*many)->size() == 4 * 28);
  CHECK(types::elements_in(**many, 0) == 0);
  CHECK(types::elements_in(**many, 28) == 5);
  CHECK(types::elements_in(**many, 28 + 8) == 7);
  CHECK(types::elements_in(**many, 28 + 12 + 8) == 9);
  CHECK_FALSE(types::elements_in(**many, 28 + 12 + 4).has_value());
  CHECK(types::elements_in(**many, 4 * 28 + 4) == 21);
  for (Count n = 0; n < 45; ++n)
    CHECK(types::elements_in(**many, types::bytes_of_elements(**many, n)) == n);
}

TEST_CASE("info pairs keep their order and the last value wins", "[bindings]") {
  Info* const info = new Info();
  info->set("b", "1");
  info->set("a", "2");
  info->set("b", "3");
  REQUIRE(info->pairs.size() == 2);
  CHECK(info->pairs[0].first == "b");
  CHECK(*info->find("b") == "3");
  CHECK(info->erase("b"));
  CHECK_FALSE(info->erase("b"));
  CHECK(info->find("b") == nullptr);
  info->release();
}
