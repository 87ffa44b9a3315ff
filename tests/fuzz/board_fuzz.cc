// The board of torchrun's variables: what comes on a connection, who comes to rank 0, and cards
// that ranks put up. Nobody gets in without the key; a rank with it does, afterwards.
#include <arpa/inet.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <map>
#include <thread>

#include "base/clock.h"
#include "catch.h"
#include "mutate.h"
#include "wireup/board.h"
#include "wireup/reception.h"

using namespace tutti;          // NOLINT(google-build-using-namespace): a test
using namespace tutti::wireup;  // NOLINT(google-build-using-namespace): a test

namespace {

constexpr std::size_t kMost = 3000;

std::string framed(const std::string& text) {
  const auto bytes = static_cast<std::uint32_t>(text.size());
  return std::string(reinterpret_cast<const char*>(&bytes), sizeof bytes) + text;
}

secure::SessionKeys keys(std::uint8_t send, std::uint8_t receive) {
  secure::SessionKeys keys;
  keys.send.fill(send);
  keys.receive.fill(receive);
  return keys;
}

UniqueFd visit(int port) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(static_cast<std::uint16_t>(port));
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) return {};
  return fd;
}

// A run whose first port is none that the system gives to clients: one of them may hold such a
// port, and a client that calls a free one of them may be given that port itself and reach itself.
std::string run_with_own_port() {
  constexpr int kFirstOfClients = 32768;  // net.ipv4.ip_local_port_range
  JobRun run;
  run.secret.emplace().fill(7);
  for (int number = ::getpid(); run.name.empty() || board_port(run, 0) >= kFirstOfClients; ++number)
    run.name = "fuzzed board " + std::to_string(number);
  return run.name;
}

// A board on which others have put up what they like.
class Cards final : public Board {
 public:
  Cards(int rank, std::map<int, std::string> cards) : cards_(std::move(cards)) {
    rank_ = rank;
    size_ = static_cast<int>(cards_.size());
  }
  Result<void> put(const std::string&, const std::string& value) override {
    own_ = value;
    return {};
  }
  Result<void> fence() override { return {}; }
  Result<std::string> get(int rank, const std::string&) override {
    return rank == rank_ && rank != 0 ? own_ : cards_.at(rank);
  }
  void abort(int, const std::string&) override {}
  Result<void> finalized() override { return {}; }

 private:
  std::map<int, std::string> cards_;
  std::string own_;
};

}  // namespace

TEST_CASE("what comes on a line is a text, whole, or its end", "[fuzz][board_lines]") {
  fuzz::Rounds rounds("board_lines", 5000);
  int whole = 0;
  while (rounds.more()) {
    fuzz::Random random(rounds.number());
    INFO("round " << rounds.number());
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
    const UniqueFd far(ends[0]);
    BoardConnection line{UniqueFd(ends[1])};
    const bool is_sealed = random.below(2) == 0;
    const std::vector<std::string> texts{"", "1 - tutti", std::string(random.below(kMost), 'x')};
    std::string bytes;
    if (is_sealed) line.seal(keys(1, 2));
    for (const std::string& text : texts) bytes += framed(text);
    if (is_sealed) {
      std::string sealed;
      std::make_unique<secure::RecordStream>(keys(2, 1))->seal(bytes, sealed);
      bytes = sealed;
    }
    const bool is_bent = random.below(3) != 0;
    if (is_bent) bytes = fuzz::bend(random, {bytes});
    std::vector<std::string> got;
    for (std::size_t at = 0; at < bytes.size() && line.is_open();) {
      const std::size_t piece = std::min(bytes.size() - at, random.below(900) + 1);
      REQUIRE(::send(far.get(), bytes.data() + at, piece, MSG_NOSIGNAL) ==
              static_cast<ssize_t>(piece));
      at += piece;
      if (!line.move()) break;
      while (auto text = line.take(kMost)) got.push_back(*text);
    }
    for (const std::string& text : got) REQUIRE(text.size() <= kMost);
    if (!is_bent) REQUIRE(got == texts);
    // Of what was sealed nothing passes that was not said.
    if (is_sealed) REQUIRE(got.size() <= texts.size());
    for (std::size_t i = 0; is_sealed && i < got.size(); ++i) REQUIRE(got[i] == texts[i]);
    whole += got.empty() ? 0 : 1;
  }
  CHECK(whole > 0);
}

TEST_CASE("nonsense at the board of rank 0 gives nobody a seat", "[fuzz][board]") {
  JobRun run;
  run.name = run_with_own_port();
  run.size = 2;
  run.secret.emplace().fill(7);
  std::size_t seated = 0;
  std::thread master([&] {
    const auto members = receive_ranks(run);
    if (members) seated = members->size();
  });
  const int port = board_port(run, 0);
  while (!visit(port).is_open()) ::usleep(2000);
  const std::string zero(64, '0'), seven(64, '7');
  const std::vector<std::string> seeds{
      framed("1 " + seven + " " + run.name), framed("1 - " + run.name), framed(seven),
      framed("1 " + zero + " " + run.name) + framed(seven), framed("0 " + seven + " " + run.name)};
  fuzz::Rounds rounds("board", 3000);
  while (rounds.more()) {
    fuzz::Random random(rounds.number());
    const UniqueFd fd = visit(port);
    REQUIRE(fd.is_open());
    std::string text = fuzz::bend(random, seeds);
    if (random.below(20) == 0) text += std::string(random.below(70'000), 'x');
    while (!text.empty()) {
      const std::size_t piece = std::min(text.size(), random.below(text.size()) + 1);
      if (::send(fd.get(), text.data(), piece, MSG_NOSIGNAL | MSG_DONTWAIT) <= 0) break;
      text.erase(0, piece);
    }
    const linger at_once{1, 0};
    if (random.below(3) == 0)
      ::setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  CHECK(seated == 0);
  JobRun own = run;
  own.rank = 1;
  CHECK(go_to_rank_0(own, "127.0.0.1"));
  master.join();
  CHECK(seated == 2);
}

TEST_CASE("cards of nonsense make a world or a reason", "[fuzz][board_cards]") {
  const std::vector<std::string> seeds{
      "host-a/0|boot|1|2/0,1,2,3/" + std::string(80, '7') + "/tcp=7:3:4,fold=1e-05/0a",
      "host-b/1|boot|1|2/1023,0///0b", "host-c/2|boot|1|2/-1,99999999999,-9223372036854775808///0c",
      "a/b/c/d/e/f",
      std::string(300, 'n') + "/3|x|1|2//" + std::string(80, 'a') + "/fold=nan,=:::/0d"};
  fuzz::Rounds rounds("board_cards", 3000);
  int worlds = 0;
  while (rounds.more()) {
    fuzz::Random random(rounds.number());
    INFO("round " << rounds.number());
    std::map<int, std::string> cards;
    for (int rank = 0; rank < 4; ++rank)
      cards[rank] = random.below(3) == 0 ? fuzz::mutate(random, seeds, "/|,-019af=:.")
                                         : seeds[random.below(3)];
    if (random.below(2) == 0) cards[0] = seeds[0];
    const auto joined = join_board(std::make_unique<Cards>(3, cards), "");
    if (!joined) {
      REQUIRE_FALSE(joined.error().text.empty());
      continue;
    }
    ++worlds;
    REQUIRE((*joined)->size() == 4);
    REQUIRE((*joined)->rank() == 3);
    REQUIRE((*joined)->local_rank() == 0);
  }
  CHECK(worlds > 0);
}

TEST_CASE("nonsense of a launcher's PMI gives a board or a reason", "[fuzz][pmi_answers]") {
  const std::vector<std::string> seeds{
      "cmd=response_to_init rc=0\ncmd=my_kvsname kvsname=job\n"
      "cmd=get_result rc=0 value=(vector,(0,2,2))\ncmd=put_result rc=0\n"
      "cmd=barrier_out rc=0\ncmd=get_result rc=0 msg=success value=a/card\n",
      "cmd=response_to_init rc=-1\n", "cmd=get_result rc=-1 msg=key_not_found value=unknown\n",
      "cmd=my_kvsname kvsname=" + std::string(4000, 'k') + "\n"};
  fuzz::Rounds rounds("pmi_answers", 10000);
  int heard = 0;
  while (rounds.more()) {
    fuzz::Random random(rounds.number());
    INFO("round " << rounds.number());
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    const UniqueFd launcher(ends[0]);
    std::string answers = seeds[0];
    if (random.below(8) != 0)
      answers = random.below(2) == 0 ? fuzz::bend(random, seeds)
                                     : fuzz::mutate(random, seeds, "=-0(), \n");
    REQUIRE(::send(launcher.get(), answers.data(), answers.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(answers.size()));
    ::shutdown(launcher.get(), SHUT_WR);
    const std::map<std::string, std::string> variables{
        {"PMI_FD", std::to_string(ends[1])}, {"PMI_RANK", "1"}, {"PMI_SIZE", "4"}};
    auto board = open_pmi_board([&variables](const char* name) -> const char* {
      const auto found = variables.find(name);
      return found == variables.end() ? nullptr : found->second.c_str();
    });
    if (!board) {
      REQUIRE_FALSE(board.error().text.empty());
      continue;
    }
    const auto put = (*board)->put("card", "a secret");
    const auto met = (*board)->fence();
    const auto card = (*board)->get(0, "card");
    if (!put) REQUIRE(put.error().text.find("a secret") == std::string::npos);
    heard += put && met && card && *card == "a/card" ? 1 : 0;
  }
  CHECK(heard > 0);
}
