// The daemon's side of the PMIx server: starts prun-pmix and passes its messages on.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "serve/serve.h"

namespace tutti::launch::serve {
namespace {

class PmixServer final : public Server {
 public:
  PmixServer(control::Loop& loop, ServedJob job, ServeReports reports,
             std::function<void(const std::string&)> ready)
      : loop_(loop), job_(std::move(job)), reports_(std::move(reports)), ready_(std::move(ready)) {}
  ~PmixServer() override;

  void start(const std::string& program);
  Result<Outfit> outfit(int local) override {
    Outfit mine;
    mine.variables = ranks_.at(static_cast<std::size_t>(local)).all;
    return mine;
  }
  void hear(const control::Message& message) override {
    if (channel_ != nullptr) channel_->send(control::kEveryHost, message);
  }

 private:
  void on_message(const control::Message& message);
  void on_serves(const control::Serves& serves);
  void lost(const std::string& why);

  control::Loop& loop_;
  ServedJob job_;
  ServeReports reports_;
  std::function<void(const std::string&)> ready_;
  std::unique_ptr<control::StartupChannel> channel_;
  pid_t pid_ = 0;
  std::vector<control::Variables> ranks_;
};

void PmixServer::start(const std::string& program) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return lost("no socket");
  UniqueFd ours(ends[0]), theirs(ends[1]);
  pid_ = ::fork();
  if (pid_ == 0) {
    ::dup2(theirs.get(), 0);
    ::setpgid(0, 0);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execl(program.c_str(), "prun-pmix", static_cast<char*>(nullptr));
    ::_exit(127);
  }
  if (pid_ < 0) return lost(std::strerror(errno));
  UniqueFd out(::fcntl(ours.get(), F_DUPFD_CLOEXEC, 0));
  channel_ = std::make_unique<control::StartupChannel>(
      loop_, control::ChannelEnds{std::move(ours), std::move(out)});
  channel_->open(
      [this](control::Frame&& one) {
        const auto message = control::decode(one.body);
        if (message) on_message(*message);
      },
      [this](const std::string& why) { lost("its connection was " + why); });
  channel_->send(control::kEveryHost, job_);
}

// Nobody is served any more: its own farewell would only make the job's end longer. The folder that
// it leaves goes when the job has ended (sweep_own_folders).
PmixServer::~PmixServer() {
  channel_.reset();
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void PmixServer::lost(const std::string& why) {
  // Its channel closes only with its last process, which the daemon reaps: its number may be
  // another's soon.
  pid_ = 0;
  const auto tell = std::exchange(ready_, nullptr);
  if (tell)
    loop_.post([tell, why] { tell("the PMIx server (prun-pmix) could not be started: " + why); });
  else
    reports_.note("the PMIx server ended (" + why + "); ranks that need it will wait");
}

void PmixServer::on_serves(const control::Serves& serves) {
  ranks_ = serves.ranks;
  const auto tell = std::exchange(ready_, nullptr);
  const bool whole = ranks_.size() == job_.local.size();
  if (tell)
    tell(serves.problem.empty() && !whole ? "the PMIx server said something unintelligible"
                                          : serves.problem);
}

void PmixServer::on_message(const control::Message& message) {
  if (const auto* serves = std::get_if<control::Serves>(&message)) on_serves(*serves);
  if (const auto* served = std::get_if<control::Served>(&message))
    (served->finalized ? reports_.finalized : reports_.joined)(served->rank);
  if (const auto* aborts = std::get_if<control::RankAborts>(&message))
    reports_.aborts(aborts->rank, aborts->status, aborts->reason);
  if (const auto* part = std::get_if<control::Gather>(&message)) reports_.gather(*part);
  if (const auto* fetch = std::get_if<control::Fetch>(&message)) reports_.say(*fetch);
  if (const auto* fetched = std::get_if<control::Fetched>(&message)) reports_.say(*fetched);
}

}  // namespace

std::unique_ptr<Server> serve_pmix(control::Loop& loop, ServedJob job, ServeReports reports,
                                   const std::string& program,
                                   std::function<void(const std::string& problem)> ready) {
  auto server =
      std::make_unique<PmixServer>(loop, std::move(job), std::move(reports), std::move(ready));
  server->start(program);
  return server;
}

}  // namespace tutti::launch::serve
