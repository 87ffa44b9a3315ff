// The server of PMI version 1, the wire-up of MPICH and its family.
//
//   rank: cmd=put kvsname=job key=card value=...     here: cmd=put_result rc=0 msg=success
//   rank: cmd=barrier_in                             here: cmd=barrier_out rc=0, once all are in
//   rank: cmd=get kvsname=job key=card               here: cmd=get_result rc=0 msg=success
//   value=...
//
// What ranks put stays on this host until the barrier; with it each host's pairs go to all others.
#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <map>

#include "base/text.h"
#include "serve/pmi1_answers.h"
#include "serve/serve.h"
#include "wireup/pmi1_words.h"

namespace tutti::launch::serve {
namespace {

constexpr const char* kBarrier = "pmi1";
constexpr std::size_t kMostPending = 1U << 20;  // bytes of one command
constexpr std::size_t kMostPut = 16U << 20;     // bytes that one rank puts, in all
constexpr int kMostRefusals = 8;                // told of one rank: it may ask for ever

class Pmi1Server final : public Server {
 public:
  Pmi1Server(control::Loop& loop, ServedJob job, ServeReports reports, int fd)
      : loop_(loop), job_(std::move(job)), reports_(std::move(reports)), rank_fd_(fd) {
    clients_.resize(job_.local.size());
    all_["PMI_process_mapping"] = wireup::process_mapping(job_.host_of);
  }
  ~Pmi1Server() override {
    for (const Client& client : clients_)
      if (client.socket.is_open()) loop_.forget(client.socket.get());
  }

  Result<Outfit> outfit(int local) override;
  void hear(const control::Message& message) override;

 private:
  struct Client {
    UniqueFd socket;
    std::string received;
    bool served = false, waits = false;  // in the barrier
    int refusals = 0;                    // that were told
    std::size_t put_bytes = 0;
  };

  void read(std::size_t local);
  void answer(std::size_t local, const wireup::Pmi1Command& command);
  void barrier(std::size_t local);
  void put(std::size_t local, const wireup::Pmi1Command& command);
  void get(std::size_t local, const wireup::Pmi1Command& command);
  void abort(int rank, const wireup::Pmi1Command& command);
  void refuse(std::size_t local, const std::string& name);
  void say(std::size_t local, const std::string& line);
  void drop(std::size_t local);

  control::Loop& loop_;
  ServedJob job_;
  ServeReports reports_;
  int rank_fd_;
  std::vector<Client> clients_;
  std::map<std::string, std::string> all_;
  std::map<std::string, std::string> fresh_;  // put since the last barrier
};

Result<Server::Outfit> Pmi1Server::outfit(int local) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return fail(Code::other, std::string("cannot make a socket for a rank: ") +
                                 std::strerror(errno) + "; raise the limit of open files");
  const auto index = static_cast<std::size_t>(local);
  Client& client = clients_.at(index);
  client.socket.reset(ends[0]);
  client.served = true;
  ::fcntl(ends[0], F_SETFL, ::fcntl(ends[0], F_GETFL) | O_NONBLOCK);
  loop_.on_readable(ends[0], [this, index] { read(index); });
  Outfit outfit;
  outfit.fd.reset(ends[1]);
  outfit.variables = {"PMI_FD=" + std::to_string(rank_fd_)};
  return outfit;
}

void Pmi1Server::drop(std::size_t local) {
  Client& client = clients_.at(local);
  loop_.forget(client.socket.get());
  client.socket.reset();
}

void Pmi1Server::read(std::size_t local) {
  Client& client = clients_.at(local);
  char buffer[4096];
  const ssize_t got = ::recv(client.socket.get(), buffer, sizeof buffer, 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return drop(local);
  client.received.append(buffer, static_cast<std::size_t>(got));
  wireup::Pmi1Command command;
  while (client.socket.is_open() && wireup::take_pmi1_command(client.received, &command))
    answer(local, command);
  if (client.received.size() > kMostPending) {
    reports_.note("rank " + std::to_string(job_.local[local]) +
                  " wrote what is no PMI command to its PMI socket; it is closed");
    drop(local);
  }
}

// The answers are short and asked for one at a time: the socket has room for each.
void Pmi1Server::say(std::size_t local, const std::string& line) {
  const std::string whole = line + "\n";
  const int fd = clients_.at(local).socket.get();
  if (::send(fd, whole.data(), whole.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(whole.size()))
    drop(local);
}

// What ranks put stays here until the job ends.
void Pmi1Server::put(std::size_t local, const wireup::Pmi1Command& command) {
  const std::string key = command.word("key"), value = command.word("value");
  std::size_t& bytes = clients_.at(local).put_bytes;
  if (key.size() + value.size() > kMostPut - bytes) return refuse(local, "put");
  bytes += key.size() + value.size();
  fresh_[key] = value;
  say(local, "cmd=put_result rc=0 msg=success");
}

void Pmi1Server::get(std::size_t local, const wireup::Pmi1Command& command) {
  const std::string key = command.word("key");
  for (const auto* pairs : {&fresh_, &all_})
    if (const auto found = pairs->find(key); found != pairs->end())
      return say(local, "cmd=get_result rc=0 msg=success value=" + found->second);
  say(local, "cmd=get_result rc=-1 msg=key_" + key + "_not_found value=unknown");
}

void Pmi1Server::barrier(std::size_t local) {
  if (std::exchange(clients_.at(local).waits, true)) return;  // it says so again
  for (const Client& client : clients_)
    if (client.served && !client.waits) return;
  control::Gather part;
  part.name = kBarrier;
  part.part = join_pairs(fresh_);
  reports_.gather(part);
}

void Pmi1Server::hear(const control::Message& message) {
  const auto* all = std::get_if<control::Gathered>(&message);
  if (all == nullptr || all->name != kBarrier) return;
  for (const std::string& part : all->parts) split_pairs(part, all_);
  fresh_.clear();
  for (std::size_t local = 0; local < clients_.size(); ++local) {
    clients_[local].waits = false;
    if (clients_[local].socket.is_open()) say(local, "cmd=barrier_out rc=0");
  }
}

void Pmi1Server::answer(std::size_t local, const wireup::Pmi1Command& command) {
  const int rank = job_.local[local];
  const std::string& name = command.name;
  if (name == "init") {
    reports_.joined(rank);
    say(local, "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1");
  } else if (name == "get_maxes") {
    say(local, "cmd=maxes rc=0 kvsname_max=256 keylen_max=64 vallen_max=1024");
  } else if (name == "get_appnum") {
    const int app = job_.app_of.at(static_cast<std::size_t>(rank));
    say(local, "cmd=appnum rc=0 appnum=" + std::to_string(app));
  } else if (name == "get_my_kvsname") {
    say(local, "cmd=my_kvsname rc=0 kvsname=job_" + std::to_string(job_.job_id));
  } else if (name == "get_universe_size") {
    say(local, "cmd=universe_size rc=0 size=" + std::to_string(job_.universe));
  } else if (name == "put") {
    put(local, command);
  } else if (name == "get") {
    get(local, command);
  } else if (name == "barrier_in") {
    barrier(local);
  } else if (name == "finalize") {
    reports_.finalized(rank);
    say(local, "cmd=finalize_ack rc=0");
  } else if (name == "abort") {
    abort(rank, command);
  } else {
    refuse(local, name);
  }
}

void Pmi1Server::abort(int rank, const wireup::Pmi1Command& command) {
  const auto status = text::parse_int(command.word("exitcode"));
  const bool is_status = status && *status >= INT_MIN && *status <= INT_MAX;
  reports_.aborts(rank, is_status ? static_cast<int>(*status) : 1, command.word("message"));
}

void Pmi1Server::refuse(std::size_t local, const std::string& name) {
  if (clients_.at(local).refusals++ < kMostRefusals)
    reports_.note("rank " + std::to_string(job_.local[local]) + " asked its launcher for '" + name +
                  "', which prun does not do " +
                  (name == "put" ? "beyond " + std::to_string(kMostPut >> 20) + " MiB of one rank"
                                 : std::string("for programs of this MPI")));
  say(local, "cmd=" + answer_to(name) + " rc=-1 msg=not_supported");
}

}  // namespace

std::unique_ptr<Server> serve_pmi1(control::Loop& loop, ServedJob job, ServeReports reports,
                                   int fd) {
  return std::make_unique<Pmi1Server>(loop, std::move(job), std::move(reports), fd);
}

}  // namespace tutti::launch::serve
