// inside: whether a transport is in its progress, which callbacks must not enter again.
#pragma once

namespace tutti::transport {

// While it lives that is so; also where a frame finds no memory.
class Inside {
 public:
  explicit Inside(bool& is_so) : is_so_(is_so) { is_so_ = true; }
  ~Inside() { is_so_ = false; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  bool& is_so_;
};

}  // namespace tutti::transport
