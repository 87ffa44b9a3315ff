// TUTTI_INTERFACES: which network interfaces may be used.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tutti {

// "eth0,ib,10.1.0.0/16": names, beginnings of names, addresses and subnets; "^docker,lo": all but
// these; "=eth" is this name alone, as any word is that ends in a digit. Empty: all.
class InterfaceList {
 public:
  static Result<InterfaceList> parse(const std::string& text);
  bool is_empty() const { return words_.empty(); }
  // `address`: of IPv4 or IPv6.
  bool takes(std::string_view name, const sockaddr* address) const;

 private:
  struct Word {
    std::string name;  // empty: a subnet
    bool is_whole = false;
    int family = 0;
    int bits = 0;
    std::array<std::uint8_t, 16> subnet{};
  };
  static Result<Word> word_of(const std::string& text);
  static bool fits(const Word& word, std::string_view name, const sockaddr* address);

  std::vector<Word> words_;
  bool excludes_ = false;
};

// Every address, of IPv4 or IPv6, that the list takes, of the interfaces that are up.
void each_address(const InterfaceList& wanted,
                  const std::function<void(const char* name, const sockaddr* address)>& take);

// Addresses of one subnet: the first `bits` are the same.
bool is_same_subnet(const std::uint8_t* a, const std::uint8_t* b, int bits);

}  // namespace tutti
