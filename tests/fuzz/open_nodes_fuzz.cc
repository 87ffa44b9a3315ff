// Nodes of torchrun that met without a key, where each of them may be anybody who knows our words:
// who serves as a node of the job, and who leads it. The job ends with a status, and so does a
// node's daemon.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "catch.h"
#include "daemon/daemon.h"
#include "job/job.h"
#include "mutate.h"
#include "spawn/meet.h"
#include "status/status.h"

using namespace tutti;                   // NOLINT(google-build-using-namespace): a test
using namespace tutti::launch;           // NOLINT(google-build-using-namespace): a test
using namespace tutti::launch::control;  // NOLINT(google-build-using-namespace): a test
using namespace tutti::launch::spawn;    // NOLINT(google-build-using-namespace): a test

namespace {

MeetingKey no_key() {
  MeetingKey key;
  key.is_open = true;
  key.job = "torchrun fuzz";
  return key;
}

// What daemons say, one of each, and what heads say.
std::vector<std::string> said_by_node(int rank) {
  Hello hello;
  hello.version = version();
  hello.host_name = "node";
  hello.machine = daemon::machine_part(*topo::synthetic("core:2 pu:1"));
  hello.own_address = "127.0.0.1";
  hello.free_port = 4711;
  return {encode(hello), encode(Started{}), encode(Addresses{0, {rank}, {"an address"}}),
          encode(RankEnded{rank, 0, true, true, false, 1, 0, "", ""}), encode(Bye{})};
}
const std::vector<std::string>& said_otherwise() {
  static const std::vector<std::string> all{
      encode(RankAborts{1, 256, "why", true}),
      encode(DaemonFailed{0, "why"}),
      encode(DaemonFailed{256, "why"}),
      encode(Gone{{0, 1, -1, 1 << 30}, {0, 1, 0, 1U << 31}}),
      encode(RankEnded{0, 9, true, false, true, 0, 256, "why", "last", true, ~0U, ~0ULL}),
      encode(Signal{SIGUSR1}),
      encode(End{1}),
      encode(Output{1, 2, "evil\n"}),
      encode(Note{"evil"}),
      encode(Used{1, 2, "evil"}),
      encode(HostFailed{0, 3, "evil"}),
      encode(Addresses{1U << 31, {0, 1, 1 << 30}, {"a", std::string(3000, 'x'), ""}}),
      encode(Heartbeat{}),
      encode(Hello{})};
  return all;
}

constexpr int kSoonMs = 30, kLongMs = 30'000;

// One side of a channel that was sealed, or inherited.
class Side {
 public:
  Side(UniqueFd fd, std::unique_ptr<secure::RecordStream> stream)
      : fd_(std::move(fd)), stream_(std::move(stream)) {}
  void say(int host, const std::string& body) { say_raw(frame(host, body)); }
  void say_raw(const std::string& bytes) {
    std::string wire = bytes;
    if (stream_) {
      wire.clear();
      stream_->seal(bytes, wire);
    }
    static_cast<void>(!::send(fd_.get(), wire.data(), wire.size(), MSG_NOSIGNAL));
  }
  // Until a message of this kind came, the one by which the job ends, or nothing for so long.
  template <class Kind>
  void await(int limit_ms) {
    while (!is_over_) {
      Frame one;
      const auto whole = reader_.next(&one);
      if (!whole) return;
      if (!*whole) {
        if (!read(limit_ms)) return;
        continue;
      }
      const auto message = decode(one.body);
      is_over_ = !message || std::holds_alternative<Bye>(*message);
      is_called_ = is_called_ || (message && std::holds_alternative<Prepare>(*message));
      if (is_over_ || std::holds_alternative<Kind>(*message)) return;
    }
  }
  // A node that leaves before its job begins is only waited for.
  void await_call() {
    if (!is_called_) await<Prepare>(kLongMs);
  }

 private:
  bool read(int limit_ms) {
    pollfd look{fd_.get(), POLLIN, 0};
    if (::poll(&look, 1, limit_ms) != 1) return false;
    std::string bytes(65536, '\0'), plain;
    const ssize_t got = ::recv(fd_.get(), bytes.data(), bytes.size(), 0);
    is_over_ = got <= 0;
    if (is_over_) return false;
    bytes.resize(static_cast<std::size_t>(got));
    if (!stream_) plain = bytes;
    if (stream_ && !stream_->open(bytes, plain)) return false;
    reader_.feed(plain);
    return true;
  }
  UniqueFd fd_;
  std::unique_ptr<secure::RecordStream> stream_;
  FrameReader reader_;
  bool is_over_ = false, is_called_ = false;
};

// Says the parts of a job, in order or not, bent or not, and nonsense between them.
void say_bent(fuzz::Random& random, Side& side, int host, const std::vector<std::string>& parts) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (random.below(8) == 0) continue;
    const std::string part = random.below(8) == 0 ? parts[random.below(parts.size())] : parts[i];
    const int to = random.below(8) == 0 ? static_cast<int>(random.below(5)) - 2 : host;
    side.say(to, random.below(4) == 0 ? fuzz::bend(random, parts) : part);
    while (random.below(3) == 0)
      side.say(to, random.below(2) == 0 ? fuzz::bend(random, said_otherwise())
                                        : said_otherwise()[random.below(said_otherwise().size())]);
    if (random.below(20) == 0) side.say_raw(fuzz::bend(random, {frame(0, part)}));
    if (random.below(20) == 0) return;
    if (random.below(2) == 0) side.await<Launch>(kSoonMs);
  }
}

enum class Manners { good, hasty, bent, meddling };

// A node of a job of two, who is anybody; a hasty one leaves before its ranks have ended, and one
// that meddles says how the other's has ended.
void be_node(fuzz::Random random, Manners manners, int node, int port) {
  JoiningHost self;
  self.name = "node" + std::to_string(node);
  self.node_rank = node;
  if (!go_to_meeting({"127.0.0.1", port}, no_key(), 25, &self)) return;
  Side side(std::move(self.channel), std::move(self.stream));
  const auto parts = said_by_node(node);
  if (manners == Manners::bent) {
    say_bent(random, side, node, parts);
    side.await_call();
    return side.await<Bye>(kSoonMs);
  }
  side.await<Prepare>(kLongMs);
  side.say(node, parts[0]);
  const bool is_hasty = manners == Manners::hasty;
  if (!is_hasty || random.below(2) == 0) side.await<Launch>(kLongMs);
  if (is_hasty) return side.say(node, parts.back());
  if (manners == Manners::meddling) side.say(node, said_by_node(1 - node)[3]);
  for (std::size_t i = 1; i + 1 < parts.size(); ++i) side.say(node, parts[i]);
  side.await<Bye>(kLongMs);
  side.say(node, parts.back());
}

// A node that is started by its own command line.
daemon::DaemonPlace place_of(UniqueFd up, const job::JobRequest& request) {
  daemon::DaemonPlace place;
  place.by_hand = place.over_network = place.among_strangers = place.shows_output = true;
  place.environment = request.environment;
  place.own_address = place.head_address = "127.0.0.1";
  place.directory = "/";
  place.up.out.reset(::fcntl(up.get(), F_DUPFD_CLOEXEC, 3));
  place.up.in = std::move(up);
  place.own_launch = [&request](int host, const Launch& said) {
    return job::own_launch(request, 2, host, said);
  };
  return place;
}

job::JobRequest torch_job() {
  job::JobRequest request;
  cli::AppSpec app;
  app.argv = {"/bin/true"};
  request.spec.apps.push_back(app);
  request.spec.torch.used = true;
  request.spec.torch.min_nodes = request.spec.torch.max_nodes = 2;
  request.spec.placement.oversubscribe = true;
  request.environment = {"PATH=/usr/bin:/bin"};
  return request;
}

// The status of a job of two nodes.
int status_of_job(fuzz::Random& random, Manners first, Manners second) {
  job::JobRequest request = torch_job();
  request.allocation.given = true;
  request.spec.timeout_s = 30;
  auto meeting = HostMeeting::open({"127.0.0.1", 0}, no_key());
  REQUIRE(meeting);
  const int port = (*meeting)->port();
  request.meeting = std::move(*meeting);
  const auto node = [&](int number, Manners how) {
    return std::thread(
        [=, seed = random.next()] { be_node(fuzz::Random(seed), how, number, port); });
  };
  std::thread one = node(0, first), two = node(1, second);
  const int status = job::run_job(std::move(request));
  one.join();
  two.join();
  return status;
}

}  // namespace

TEST_CASE("a job whose nodes are anybody's ends with a status", "[fuzz][open_nodes]") {
  fuzz::Rounds rounds("open_nodes", 60);
  while (rounds.more()) {
    fuzz::Random random(rounds.number());
    INFO("round " << rounds.number());
    const auto manners = static_cast<Manners>(random.below(3));
    const bool both = random.below(2) == 0;
    const int status = status_of_job(random, manners, both ? manners : Manners::good);
    REQUIRE((status >= 0 && status < 256));
    if (manners == Manners::good) REQUIRE(status == 0);
    if (manners == Manners::hasty) REQUIRE(status == status::of(status::ExitStatus::host_lost));
  }
}

TEST_CASE("a node that speaks of another's ranks is lost", "[fuzz][open_nodes]") {
  fuzz::Random random(0);
  CHECK(status_of_job(random, Manners::good, Manners::meddling) ==
        status::of(status::ExitStatus::host_lost));
}

TEST_CASE("a node whose head is anybody's ends when that goes", "[fuzz][open_head]") {
  const job::JobRequest request = torch_job();
  fuzz::Rounds rounds("open_head", 60);
  int good = 0;
  while (rounds.more()) {
    fuzz::Random random(rounds.number());
    INFO("round " << rounds.number());
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    UniqueFd own(ends[0]), its(ends[1]);
    const pid_t node = ::fork();
    REQUIRE(node >= 0);
    if (node == 0) {
      own.reset();
      const int status = daemon::run_daemon(place_of(std::move(its), request));
      ::_exit(status == 0 ? 100 : 101);  // a sanitizer has its own
    }
    its.reset();
    Launch launch;
    launch.job_id = 7;
    launch.job_key = std::string(32, 'k');
    launch.hosts = {"a", "b"};
    launch.host_of = {0, 1, 1};
    launch.apps.resize(1);
    launch.ranks = {{1, 0, false, {}}, {2, 0, false, {}}};
    const std::vector<std::string> parts{
        encode(Prepare{1, "b", version(), random.below(2) == 0, false, {}}), encode(launch),
        encode(Addresses{0, {0}, {"an address"}}), encode(Gone{{0}, {1}}), encode(Bye{})};
    const bool bent = random.below(4) != 0;
    {
      Side side(std::move(own), nullptr);
      if (bent) {
        say_bent(random, side, 1, parts);
      } else {
        side.say(1, parts[0]);
        side.await<Hello>(kLongMs);
        side.say(1, parts[1]);
        side.await<RankEnded>(kLongMs);
        side.await<RankEnded>(kLongMs);
        side.say(1, parts.back());
        side.await<Bye>(kLongMs);
      }
    }
    int status = 0;
    REQUIRE(::waitpid(node, &status, 0) == node);
    REQUIRE(WIFEXITED(status));
    if (bent) REQUIRE((WEXITSTATUS(status) == 100 || WEXITSTATUS(status) == 101));
    if (!bent) REQUIRE(WEXITSTATUS(status) == 100);
    good += bent ? 0 : 1;
  }
  CHECK(good > 0);
}
