// TrueWhile: a flag that says what is under way, also where that ends by an exception.
#pragma once

namespace tutti {

class TrueWhile {
 public:
  explicit TrueWhile(bool& flag) : flag_(flag) { flag_ = true; }
  ~TrueWhile() { flag_ = false; }
  TrueWhile(const TrueWhile&) = delete;
  TrueWhile& operator=(const TrueWhile&) = delete;

 private:
  bool& flag_;
};

}  // namespace tutti
