// Messages to bytes and back: [number, {name: value}] in MessagePack.
//
// One visitor writes every field a message lists, another reads them. The reader takes nothing
// for granted: sizes are limited before anything is allocated, a value of the wrong type is an
// error that names the field. msgpack reports bad bytes by exceptions; they end here.
//
// Templates are compiled for every field of every message, so what does not depend on a field's
// type is in functions that are none.
#define MSGPACK_NO_BOOST
#include <algorithm>
#include <limits>
#include <msgpack.hpp>
#include <type_traits>

#include "control/control.h"

namespace tutti::launch::control {
namespace {

template <class T>
concept Record = requires(T& t) {
  t.fields([](const char*, auto&) {});
};

template <class T>
struct is_vector : std::false_type {};
template <class T>
struct is_vector<std::vector<T>> : std::true_type {};

// What msgpack writes to: the end of a text, so that a message is copied once.
struct TextEnd {
  std::string& text;
  void write(const char* bytes, std::size_t count) { text.append(bytes, count); }
};

class FieldWriter {
 public:
  explicit FieldWriter(TextEnd& out) : pack_(out) {}

  template <class T>
  void value(const T& v) {
    if constexpr (Record<T>) {
      std::uint32_t count = 0;
      const_cast<T&>(v).fields([&count](const char*, auto&) { ++count; });
      pack_.pack_map(count);
      const_cast<T&>(v).fields([this](const char* name, auto& field) {
        text(name);
        value(field);
      });
    } else if constexpr (is_vector<T>::value) {
      pack_.pack_array(static_cast<std::uint32_t>(v.size()));
      for (const auto& item : v) value(item);
    } else if constexpr (std::is_same_v<T, std::string>) {
      text(v);
    } else if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, double>) {
      pack_.pack(v);
    } else if constexpr (std::is_signed_v<T>) {
      integer(std::int64_t{v});
    } else {
      integer(std::uint64_t{v});
    }
  }
  void head(std::uint32_t number) {
    pack_.pack_array(2);
    pack_.pack(number);
  }

 private:
  [[gnu::noinline]] void text(std::string_view text) { pack_.pack(text); }
  // As short as its value is, whatever its type.
  [[gnu::noinline]] void integer(std::int64_t number) { pack_.pack(number); }
  [[gnu::noinline]] void integer(std::uint64_t number) { pack_.pack(number); }

  msgpack::packer<TextEnd> pack_;
};

// What is made of a message takes at most so many times its bytes, as a list of empty texts does. A
// list of empty records would take hundreds of times as much, and nobody writes one.
constexpr std::size_t kMostGrowth = 32;

class FieldReader {
 public:
  // Of a message of so many bytes.
  explicit FieldReader(std::size_t bytes) : room_(kMostGrowth * (bytes + 256)) {}

  template <class T>
  void value(const msgpack::object& from, T& v) {
    if constexpr (Record<T>) {
      record(from, v);
    } else if constexpr (is_vector<T>::value) {
      if (from.type != msgpack::type::ARRAY) return wrong("not a list");
      v.clear();
      for (std::uint32_t i = 0; i < from.via.array.size && takes(sizeof(v[0])); ++i)
        value(from.via.array.ptr[i], v.emplace_back());
    } else if constexpr (std::is_same_v<T, std::string>) {
      if (from.type != msgpack::type::STR) return wrong("not text");
      v.assign(from.via.str.ptr, from.via.str.size);
    } else if constexpr (std::is_same_v<T, bool>) {
      if (from.type != msgpack::type::BOOLEAN) return wrong("not a boolean");
      v = from.via.boolean;
    } else if constexpr (std::is_same_v<T, double>) {
      number(from, v);
    } else {
      integer(from, v);
    }
  }
  const std::string& error() const { return error_; }

 private:
  template <class T>
  void record(const msgpack::object& from, T& v) {
    if (from.type != msgpack::type::MAP) return wrong("not a record");
    v.fields([this, &from](const char* name, auto& field) {
      const msgpack::object* const item = find(from.via.map, name);
      if (item == nullptr) return;
      value(*item, field);
      if (!error_.empty()) say_where(name);
    });
  }
  // Null: it is not there, or something is wrong.
  const msgpack::object* find(const msgpack::object_map& map, std::string_view name) {
    for (std::uint32_t i = 0; i < map.size && error_.empty(); ++i) {
      const auto& [key, item] = map.ptr[i];
      if (key.type != msgpack::type::STR) {
        wrong("a field without a name");
        return nullptr;
      }
      if (std::string_view(key.via.str.ptr, key.via.str.size) == name) return &item;
    }
    return nullptr;
  }
  // False: it must not grow by so much, or something is wrong already.
  [[gnu::noinline]] bool takes(std::size_t bytes) {
    if (bytes > room_) wrong("more than its bytes can say");
    room_ -= std::min(room_, bytes);
    return error_.empty();
  }
  [[gnu::noinline]] void say_where(const char* field) { error_ += std::string(" in ") + field; }
  void number(const msgpack::object& from, double& v) {
    if (from.type == msgpack::type::FLOAT64 || from.type == msgpack::type::FLOAT32)
      v = from.via.f64;
    else if (from.type == msgpack::type::POSITIVE_INTEGER)
      v = static_cast<double>(from.via.u64);
    else
      wrong("not a number");
  }
  template <class T>
  void integer(const msgpack::object& from, T& v) {
    using Limits = std::numeric_limits<T>;
    if (from.type == msgpack::type::POSITIVE_INTEGER) {
      if (from.via.u64 > static_cast<std::uint64_t>(Limits::max())) return wrong("out of range");
      v = static_cast<T>(from.via.u64);
    } else if (from.type == msgpack::type::NEGATIVE_INTEGER && std::is_signed_v<T>) {
      if (from.via.i64 < static_cast<std::int64_t>(Limits::min())) return wrong("out of range");
      v = static_cast<T>(from.via.i64);
    } else {
      wrong("not an integer");
    }
  }
  [[gnu::noinline]] void wrong(const char* what) {
    if (error_.empty()) error_ = what;
  }

  std::string error_;
  std::size_t room_;
};

template <std::size_t I = 0>
Result<Message> read_as(std::uint64_t kind, const msgpack::object& body, std::size_t bytes) {
  if constexpr (I == std::variant_size_v<AnyMessage>) {
    return fail(Code::other, "a message of unknown kind " + std::to_string(kind));
  } else {
    if (kind != I) return read_as<I + 1>(kind, body, bytes);
    std::variant_alternative_t<I, AnyMessage> message;
    FieldReader reader(bytes);
    reader.value(body, message);
    if (!reader.error().empty())
      return fail(Code::other, "message " + std::to_string(kind) + ": " + reader.error());
    return Message(std::move(message));
  }
}

}  // namespace

std::string version() {
  return TUTTI_VERSION;
}

void encode_to(std::string& out, const Message& message) {
  TextEnd end{out};
  FieldWriter writer(end);
  writer.head(static_cast<std::uint32_t>(message.index()));
  std::visit([&writer](const auto& m) { writer.value(m); }, message);
}

std::string encode(const Message& message) {
  std::string out;
  encode_to(out, message);
  return out;
}

Result<Message> decode(std::string_view bytes) {
  // Nothing in a frame can be longer than the frame itself.
  const std::size_t most = bytes.size();
  const msgpack::unpack_limit limit(most, most, most, most, most, 16);
  try {
    // Texts stay where they are until they are assigned.
    const auto in_place = [](msgpack::type::object_type, std::size_t, void*) { return true; };
    msgpack::object_handle handle =
        msgpack::unpack(bytes.data(), bytes.size(), in_place, nullptr, limit);
    const msgpack::object& all = handle.get();
    if (all.type != msgpack::type::ARRAY || all.via.array.size != 2 ||
        all.via.array.ptr[0].type != msgpack::type::POSITIVE_INTEGER)
      return fail(Code::other, "not a message");
    return read_as(all.via.array.ptr[0].via.u64, all.via.array.ptr[1], most);
  } catch (const std::exception& problem) {
    return fail(Code::other, std::string("malformed message: ") + problem.what());
  }
}

}  // namespace tutti::launch::control
