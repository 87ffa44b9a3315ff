// Object and Ref<T>: what every object behind a handle begins with, and who keeps it alive.
//
// The first word of every object holds the handle its user knows it by: its slot's (slots.h), or a
// small integer for a predefined object. Counting is atomic: a communicator freed while a
// collective runs on it lives until that ends.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#include "base/slots.h"

namespace tutti {

enum class ObjectKind : std::uint8_t {
  datatype,
  op,
  group,
  comm,
  request,
  persistent,
  errhandler,
  info,
  message,
  session,
  window,
  file,
  stream,
  other
};

class Object {
 public:
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  Handle handle() const { return handle_; }
  ObjectKind kind() const { return kind_; }
  bool is_predefined() const { return handle_ < 0x400; }

  void retain() const { refs_.fetch_add(1, std::memory_order_relaxed); }
  // The user got a handle of it, and with that a reference; gives one back. False: has none to give
  // back, though the library may keep the object alive. Who got as many as can be counted is never
  // told so.
  void hand_out() const;
  bool take_back() const;
  // Made by new, an object lies in a slot.
  static void* operator new(std::size_t /*bytes*/) { return slots::take(); }
  static void* operator new(std::size_t /*bytes*/, void* slot) { return slot; }
  static void operator delete(void* object) { slots::give(object); }
  static void operator delete(void* /*object*/, void* /*slot*/) {}

  // acq_rel: the last one to let go must see every write made by the others before they let go.
  void release() const {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy_(this);
  }

 protected:
  using Destroy = void (*)(const Object*);
  // `handle` 0 means that of my slot. No virtual functions: the handle must be the first word.
  Object(ObjectKind kind, Destroy destroy, Handle handle = 0)
      : handle_(handle != 0 ? handle : slots::handle_of(this)), destroy_(destroy), kind_(kind) {}
  ~Object() = default;

  template <class T>
  static constexpr bool fits() {
    return sizeof(T) <= slots::kRoom && alignof(T) <= slots::kAlign;
  }
  // For derived classes: Object(kind, &Object::destroy_as<Derived>).
  template <class T>
  static void destroy_as(const Object* object) {
    static_assert(fits<T>(), "what is rarely used goes behind a pointer");
    delete static_cast<const T*>(object);
  }

 private:
  friend class GatedObject;
  Handle handle_;
  Destroy destroy_;
  mutable std::atomic<std::int32_t> refs_{1};
  ObjectKind kind_;
  static constexpr std::uint16_t kMany = 0xffff;
  mutable std::atomic<std::uint16_t> handed_out_{0};  // relaxed: it orders nothing
};

inline void Object::hand_out() const {
  std::uint16_t before = handed_out_.load(std::memory_order_relaxed);
  while (before != kMany && !handed_out_.compare_exchange_weak(
                                before, static_cast<std::uint16_t>(before + 1),
                                std::memory_order_relaxed)) {
  }
}

inline bool Object::take_back() const {
  std::uint16_t before = handed_out_.load(std::memory_order_relaxed);
  while (before != 0 && before != kMany &&
         !handed_out_.compare_exchange_weak(before, static_cast<std::uint16_t>(before - 1),
                                            std::memory_order_relaxed)) {
  }
  return before != 0;
}

// One that is only ever counted with its world's gate held. A
// locked instruction would wait until the stores before it are seen by all, such as those into a
// peer's lane: half of what a short message costs.
class GatedObject : public Object {
 public:
  // relaxed, in two steps: the gate orders us and keeps others out.
  void retain() const {
    refs_.store(refs_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  void release() const {
    const std::int32_t left = refs_.load(std::memory_order_relaxed) - 1;
    refs_.store(left, std::memory_order_relaxed);
    if (left == 0) destroy_(this);
  }
  std::int32_t references() const { return refs_.load(std::memory_order_relaxed); }

 protected:
  using Object::Object;
};

// The object that a word is the handle of, if it is of this kind; else null. Any word will do, but
// predefined objects are found elsewhere.
template <class T>
T* object_at(Handle word, ObjectKind kind) {
  auto* const object = static_cast<Object*>(slots::find(word));
  return object != nullptr && object->kind() == kind ? static_cast<T*>(object) : nullptr;
}

// Shared ownership of an Object. adopt() takes over the reference the object is born with.
template <class T>
class Ref {
 public:
  Ref() = default;
  static Ref adopt(T* object) {
    Ref ref;
    ref.object_ = object;
    return ref;
  }
  static Ref share(T* object) {
    if (object != nullptr) object->retain();
    return adopt(object);
  }
  Ref(const Ref& other) : object_(other.object_) {
    if (object_ != nullptr) object_->retain();
  }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() { reset(); }

  void reset() {
    const T* old = std::exchange(object_, nullptr);
    if (old != nullptr) old->release();
  }
  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  // Hands the reference to a handle of the user's.
  T* hand_out() {
    if (object_ != nullptr) object_->hand_out();
    return std::exchange(object_, nullptr);
  }

 private:
  T* object_ = nullptr;
};

}  // namespace tutti
