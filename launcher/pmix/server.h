// The PMIx server of one host. Inside the room only.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "control/control.h"

namespace tutti::launch {

class PmixHost {
 public:
  // `where`: in which folder it makes its own.
  PmixHost(Loop& loop, Channel& daemon, std::string where)
      : loop_(loop), daemon_(daemon), where_(std::move(where)) {}
  ~PmixHost();
  void hear(const Message& message);

  // What the library's callbacks post to the loop.
  using Answer = std::function<void(int status, const std::string& data)>;
  void say(const Message& message) { daemon_.send(kEveryHost, message); }
  void gather(Gather part, Answer answer);
  void fetch(int rank, Answer answer);
  Loop& loop() { return loop_; }
  const ServeJob& job() const { return job_; }

 private:
  Result<void> serve(const ServeJob& job);
  Result<Variables> admit(int rank);
  void handle(const Gathered& all);
  void handle(const Fetch& fetch);
  void handle(const Fetched& fetched);

  Loop& loop_;
  Channel& daemon_;
  ServeJob job_;
  std::string where_, folder_;
  bool serves_ = false;
  std::map<std::string, Answer> gathers_;
  std::map<std::uint64_t, Answer> fetches_;
  std::uint64_t last_fetch_ = 0;
};

}  // namespace tutti::launch
