// Nodes of torchrun: what the node that leads says becomes numbers and addresses, never a program,
// an argument, a folder or a variable that is no knob; and who answers at its port is believed by
// proof.
#include <arpa/inet.h>
#include <sys/socket.h>

#include <thread>

#include "catch.h"
#include "daemon/daemon.h"
#include "job/job.h"
#include "mutate.h"
#include "spawn/meet.h"

using namespace tutti;                 // NOLINT(google-build-using-namespace): a test
using namespace tutti::launch;         // NOLINT(google-build-using-namespace): a test
using namespace tutti::launch::spawn;  // NOLINT(google-build-using-namespace): a test

namespace {

job::JobRequest own_request() {
  job::JobRequest request;
  cli::AppSpec app;
  app.argv = {"./own", "argument"};
  request.spec.apps.push_back(app);
  request.spec.torch.used = true;
  request.environment = {"PATH=/usr/bin", "TUTTI_BCAST=ring"};
  return request;
}

control::Launch said() {
  control::Launch launch;
  launch.job_id = 7;
  launch.job_key = std::string(32, 'k');
  launch.hosts = {"a", "b"};
  launch.host_of = {0, 0, 1, 1};
  launch.spec.master_address = "10.0.0.1";
  launch.spec.master_port = 29500;
  control::AppPart part;
  part.argv = {"/bin/evil"};
  part.working_directory = "/evil";
  part.environment = {{"LD_PRELOAD", "/evil.so", false, {}, false},
                      {"TUTTI_LINK", "tcp", false, {}, false}};
  launch.apps = {part};
  launch.output.out_file = "/evil/file";
  for (const int rank : {2, 3}) launch.ranks.push_back({rank, 0, true, {rank}});
  return launch;
}

bool has_no_evil(const std::string& text) {
  return text.find("evil") == std::string::npos;
}

}  // namespace

TEST_CASE("no word of a leading node becomes more than a number", "[fuzz][torch]") {
  const std::vector<std::string> seeds{control::encode(said())};
  const job::JobRequest request = own_request();
  fuzz::Rounds rounds("torch", 10000);
  int accepted = 0;
  while (rounds.more()) {
    fuzz::Random random(rounds.number());
    INFO("round " << rounds.number());
    auto message = control::decode(fuzz::bend(random, seeds));
    if (message && random.below(2) == 0) {
      auto cleaned = daemon::numbers_only(std::move(*message));
      if (!cleaned) continue;
      message = std::move(*cleaned);
    }
    if (!message || !std::holds_alternative<control::Launch>(*message)) continue;
    const auto own = job::own_launch(request, 2, static_cast<int>(random.below(3)),
                                     std::get<control::Launch>(*message));
    if (!own) {
      REQUIRE_FALSE(own.error().text.empty());
      continue;
    }
    ++accepted;
    REQUIRE(own->ranks.size() <= 2);
    REQUIRE(own->output.out_file.empty());
    REQUIRE(has_no_evil(own->spec.master_address));
    for (const control::AppPart& part : own->apps) {
      REQUIRE(part.argv == std::vector<std::string>{"./own", "argument"});
      REQUIRE(part.working_directory.find("evil") == std::string::npos);
      for (const control::Variable& one : part.environment)
        REQUIRE((one.name.starts_with("TUTTI_") || one.name == "PATH"));
    }
  }
  CHECK(accepted > 0);
}

TEST_CASE("who answers nonsense at a leading node's port is not joined", "[fuzz][torch_answers]") {
  const UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof at;
  REQUIRE(::bind(listener.get(), reinterpret_cast<sockaddr*>(&at), length) == 0);
  REQUIRE(::listen(listener.get(), 8) == 0);
  ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&at), &length);
  const std::string seven(64, '7');
  const std::vector<std::string> seeds{"TUTTI meet " + seven + " open\n", "TUTTI refused why\n",
                                       "TUTTI meet " + seven + " key\n",
                                       "TUTTI welcome " + seven + "\n", "HTTP/1.1 400 Bad\r\n\r\n"};
  fuzz::Rounds rounds("torch_answers", 1000);
  while (rounds.more()) {
    fuzz::Random random(rounds.number());
    INFO("round " << rounds.number());
    MeetingKey key;
    key.is_open = random.below(2) == 0;
    key.job = "torchrun none";
    if (!key.is_open) key.secret.fill(7);
    const std::string first = fuzz::mutate(random, seeds, " \n0a"),
                      then = fuzz::bend(random, seeds);
    std::thread liar([&] {
      const UniqueFd fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
      char heard[1024];
      static_cast<void>(::recv(fd.get(), heard, sizeof heard, 0));
      static_cast<void>(!::send(fd.get(), first.data(), first.size(), MSG_NOSIGNAL));
      static_cast<void>(!::send(fd.get(), then.data(), then.size(), MSG_NOSIGNAL));
      ::shutdown(fd.get(), SHUT_WR);
      while (::recv(fd.get(), heard, sizeof heard, 0) > 0) {
      }
    });
    JoiningHost self;
    self.name = "here";
    const auto met = go_to_meeting({"127.0.0.1", ntohs(at.sin_port)}, key, 0, &self);
    self.channel.reset();
    liar.join();
    REQUIRE_FALSE(met);
    for (const char c : met.error().text) REQUIRE(static_cast<unsigned char>(c) >= 0x20);
  }
}
