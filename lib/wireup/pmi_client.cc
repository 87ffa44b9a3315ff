// The board of PMI version 1: Hydra's, and Slurm's with --mpi=pmi2. One line of text per request
// and answer, over the socket that PMI_FD names.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

#include "base/printable.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "wireup/board.h"

namespace tutti::wireup {
namespace {

// The value of `key=` in an answer; a value runs to the end of its line or the next space.
std::string word(const std::string& line, const std::string& key, bool to_the_end = false) {
  const std::size_t at = (" " + line).find(" " + key + "=");
  if (at == std::string::npos) return {};
  const std::size_t from = at + key.size() + 1;
  return line.substr(from, to_the_end ? std::string::npos : line.find(' ', from) - from);
}

// "(vector,(first,hosts,ranks),...)": the host of a rank, blocks repeated until it is placed.
// Empty: no job has such numbers.
std::string node_from(const std::string& mapping, std::int64_t rank) {
  constexpr std::int64_t kMost = 1 << 20;
  std::string numbers;
  for (const char c : mapping) numbers += (c >= '0' && c <= '9') ? c : ' ';
  std::vector<std::int64_t> all;
  for (const std::string& one : text::split(numbers, ' '))
    if (!one.empty()) all.push_back(text::parse_int(one).value_or(kMost + 1));
  if (std::any_of(all.begin(), all.end(), [](std::int64_t one) { return one > kMost; })) return {};
  if (all.size() < 3 || all.size() % 3 != 0) return {};
  for (std::size_t i = 0, turns = 0; turns < 1'000'000; i = (i + 3) % all.size(), ++turns) {
    const std::int64_t first = all[i], hosts = all[i + 1], ranks = all[i + 2];
    if (hosts <= 0 || ranks <= 0) return {};
    if (rank < hosts * ranks) return std::to_string(first + rank / ranks);
    rank -= hosts * ranks;
  }
  return {};
}

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
    space_ = word(name, "kvsname");
    if (const auto mapping = ask(get_line("PMI_process_mapping"), "get_result"))
      node_ = node_from(word(*mapping, "value", true), rank_);
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
    return word(answer, "value", true);
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
  Result<std::string> ask(const std::string& line, const std::string& expected) {
    TUTTI_DO(say(line));
    std::size_t end;
    while ((end = received_.find('\n')) == std::string::npos) {
      char buffer[2048];
      const ssize_t got = ::read(socket_.get(), buffer, sizeof buffer);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return lost();
      received_.append(buffer, static_cast<std::size_t>(got));
    }
    std::string answer = received_.substr(0, end);
    received_.erase(0, end + 1);
    const std::string code = word(answer, "rc");
    if (word(answer, "cmd") != expected || (!code.empty() && code != "0"))
      return fail(Code::other,
                  "the launcher answered '" + shown(answer) + "' to '" + shown(line) + "' (PMI)");
    return answer;
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
