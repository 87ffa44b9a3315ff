// The board of PMI version 1: Hydra's, and Slurm's with --mpi=pmi2. One line of text per request
// and answer, over the socket that PMI_FD names.
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

#include "base/printable.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "wireup/board.h"
#include "wireup/pmi1_words.h"

namespace tutti::wireup {
namespace {

// Without what a rank puts up: rank 0's card has the job's key, which belongs into no line.
std::string shown(const std::string& line) {
  return line.substr(0, line.find(" value="));
}

class PmiBoard final : public Board {
 public:
  PmiBoard(int fd, int rank, int size) : socket_(fd) {
    rank_ = rank;
    size_ = size;
  }

  Result<void> start() {
    TUTTI_DO(ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init"));
    TUTTI_TRY(name, ask("cmd=get_my_kvsname", "my_kvsname"));
    space_ = name.word("kvsname");
    if (const auto mapping = ask(get_line("PMI_process_mapping"), "get_result"))
      node_ = host_in_mapping(mapping->word("value"), rank_);
    return {};
  }
  Result<void> put(const std::string& key, const std::string& value) override {
    TUTTI_DO(ask("cmd=put kvsname=" + space_ + " key=" + name_of(rank_, key) + " value=" + value,
                 "put_result"));
    return {};
  }
  Result<void> fence() override {
    TUTTI_DO(ask("cmd=barrier_in", "barrier_out"));
    return {};
  }
  Result<std::string> get(int rank, const std::string& key) override {
    TUTTI_TRY(answer, ask(get_line(name_of(rank, key)), "get_result"));
    return answer.word("value");
  }
  void abort(int status, const std::string& reason) override {
    (void)say("cmd=abort exitcode=" + std::to_string(status) +
              " message=" + text::printable(reason));  // of one line: the next is a command
    ::sleep(2);  // the launcher ends this process; the caller does where it does not
  }
  Result<void> finalized() override {
    TUTTI_DO(ask("cmd=finalize", "finalize_ack"));
    return {};
  }

 private:
  static std::string name_of(int rank, const std::string& key) {
    return "tutti-" + std::to_string(rank) + "-" + key;
  }
  std::string get_line(const std::string& name) const {
    return "cmd=get kvsname=" + space_ + " key=" + name;
  }

  Result<void> say(const std::string& line) {
    std::string_view rest = line;
    const std::string whole = line + "\n";
    for (rest = whole; !rest.empty();) {
      const ssize_t put = ::send(socket_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) return lost();
      rest.remove_prefix(static_cast<std::size_t>(put));
    }
    return {};
  }
  static tl::unexpected<Error> lost() {
    return fail(Code::other, std::string("the launcher's PMI socket is closed (PMI_FD): ") +
                                 std::strerror(errno) +
                                 "; the job is ending, or this rank has run an MPI program before, "
                                 "or something between the launcher and this program closed it");
  }
  // One line back, "cmd=EXPECTED rc=0 ...".
  Result<Pmi1Command> ask(const std::string& line, const std::string& expected) {
    TUTTI_DO(say(line));
    std::size_t end;
    while ((end = received_.find('\n')) == std::string::npos) {
      char buffer[2048];
      const ssize_t got = ::read(socket_.get(), buffer, sizeof buffer);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return lost();
      received_.append(buffer, static_cast<std::size_t>(got));
    }
    const std::string answer = received_.substr(0, end);
    received_.erase(0, end + 1);
    Pmi1Command said = pmi1_command_of(answer);
    const std::string code = said.word("rc");
    if (said.name != expected || (!code.empty() && code != "0"))
      return fail(Code::other,
                  "the launcher answered '" + shown(answer) + "' to '" + shown(line) + "' (PMI)");
    return said;
  }

  UniqueFd socket_;
  std::string space_, received_;
};

}  // namespace

Result<BoardPtr> open_pmi_board(const Lookup& getenv) {
  std::int64_t numbers[3];
  const char* const names[3] = {"PMI_FD", "PMI_RANK", "PMI_SIZE"};
  for (int i = 0; i < 3; ++i) {
    const char* text = getenv(names[i]);
    const auto value = text == nullptr ? std::nullopt : text::parse_int(text);
    if (!value || *value < 0 || *value > INT_MAX)
      return fail(Code::other, std::string(names[i]) +
                                   " is missing or no number although a "
                                   "launcher with PMI started this process");
    numbers[i] = *value;
  }
  const auto [fd, rank, size] = std::to_array(numbers);
  TUTTI_DO(check_rank(rank, size,
                      "PMI_RANK=" + std::to_string(rank) + ", PMI_SIZE=" + std::to_string(size)));
  auto board = std::make_unique<PmiBoard>(static_cast<int>(fd), static_cast<int>(rank),
                                          static_cast<int>(size));
  TUTTI_DO(board->start());
  return BoardPtr(std::move(board));
}

}  // namespace tutti::wireup
