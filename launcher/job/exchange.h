// What daemons say to each other by way of the head: addresses and ends of ranks, and what the
// servers for programs of other MPIs exchange.
//
// Owner: the Head.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "control/control.h"
#include "job/course.h"
#include "job/hosts.h"
#include "plan/plan.h"

namespace tutti::launch::job {

class AddressExchange {
 public:
  AddressExchange(control::Loop& loop, const plan::Plan& plan, const Course& course, Hosts& hosts)
      : loop_(loop), plan_(plan), course_(course), hosts_(hosts) {}

  // Errors: what this daemon had no business to say.
  Result<void> take(const control::Addresses& addresses);
  void take(const control::RankEnded& report);
  void take(int host, const control::Gather& part);
  void pass(const control::Fetch& fetch);      // to the host of the rank
  void pass(const control::Fetched& fetched);  // to who asked

 private:
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  bool exists(int host) const { return host >= 0 && at(host) < hosts_.count(); }
  void send_addresses();

  control::Loop& loop_;
  const plan::Plan& plan_;
  const Course& course_;
  Hosts& hosts_;
  control::Addresses addresses_;  // that nobody was told yet
  std::size_t addresses_sent_ = 0;
  control::Gone gone_;  // that hosts were not told of yet
  control::Loop::TimerId address_timer_ = 0, gone_timer_ = 0;
  std::map<std::string, std::map<int, std::string>> gathers_;  // by name, by host: parts
};

}  // namespace tutti::launch::job
