// The PMIx server of one host. Inside the room only.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/own_folder.h"
#include "base/result.h"
#include "control/control.h"

namespace tutti::launch::pmix {

class PmixHost {
 public:
  // `where`: in which folder it makes its own.
  PmixHost(control::Loop& loop, control::StartupChannel& daemon, std::string where)
      : loop_(loop), daemon_(daemon), where_(std::move(where)) {}
  ~PmixHost();
  void hear(const control::Message& message);

  // What the library's callbacks post to the loop.
  using Answer = std::function<void(int status, const std::string& data)>;
  void say(const control::Message& message) { daemon_.send(control::kEveryHost, message); }
  void gather(control::Gather part, Answer answer);
  void fetch(int rank, Answer answer);
  control::Loop& loop() { return loop_; }
  const control::ServeJob& job() const { return job_; }

 private:
  Result<void> serve(const control::ServeJob& job);
  Result<control::Variables> admit(int rank);
  void handle(const control::Gathered& all);
  void handle(const control::Fetch& fetch);
  void handle(const control::Fetched& fetched);

  control::Loop& loop_;
  control::StartupChannel& daemon_;
  control::ServeJob job_;
  std::string where_;
  OwnFolder own_folder_;
  OwnFolder shared_memory_;  // for the files by which Open MPI's ranks share memory
  bool serves_ = false;
  std::map<std::string, Answer> gathers_;
  std::map<std::uint64_t, Answer> fetches_;
  std::uint64_t last_fetch_ = 0;
};

}  // namespace tutti::launch::pmix
