// How a process finds out how it was started.
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "catch.h"
#include "wireup/protocol.h"
#include "wireup/segment.h"
#include "wireup/wireup.h"

using namespace tutti::wireup;  // NOLINT(google-build-using-namespace): a test of one room

namespace {
Lookup from(const std::map<std::string, std::string>& variables) {
  return [&variables](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}
}  // namespace

TEST_CASE("a process that nobody launched is a world of one", "[wireup]") {
  const std::map<std::string, std::string> none;
  const auto world = join(from(none));
  REQUIRE(world);
  CHECK((*world)->size() == 1);
  CHECK((*world)->rank() == 0);
}

TEST_CASE("a process of another launcher stops and names the sign", "[wireup]") {
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    const std::map<std::string, std::string> variables{{name, "4"}};
    const auto world = join(from(variables));
    REQUIRE_FALSE(world);
    CHECK(world.error().text.find(std::string(name) + "=4") != std::string::npos);
    CHECK(world.error().text.find("prun") != std::string::npos);
  }
  const std::map<std::string, std::string> single{{"PMI_SIZE", "1"}};
  CHECK(join(from(single)).has_value());
}

TEST_CASE("ranks with torchrun's variables find each other", "[wireup]") {
  constexpr int kSize = 3;
  std::vector<std::map<std::string, std::string>> variables;
  for (int rank = 0; rank < kSize; ++rank)
    variables.push_back({{"RANK", std::to_string(rank)},
                         {"WORLD_SIZE", std::to_string(kSize)},
                         {"GROUP_RANK", rank < 2 ? "0" : "1"},
                         {"MASTER_ADDR", "localhost"},
                         {"MASTER_PORT", std::to_string(::getpid())}});
  std::vector<std::unique_ptr<Wireup>> worlds(kSize);
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < kSize; ++rank)
    threads.emplace_back([&, rank] {
      auto world = join(from(variables[rank]));
      if (!world) return;
      const tutti::Blob address(8, static_cast<std::byte>(rank));
      if ((*world)->put(address)) worlds[rank] = std::move(*world);
    });
  for (auto& thread : threads) thread.join();
  for (int rank = 0; rank < kSize; ++rank) {
    const auto& world = worlds[static_cast<std::size_t>(rank)];
    REQUIRE(world != nullptr);
    CHECK(world->rank() == rank);
    CHECK(world->size() == kSize);
    CHECK(world->local_size() == (rank < 2 ? 2 : 1));
    const auto last = world->get(kSize - 1);
    REQUIRE(last);
    CHECK(last->size() == 8);
    CHECK((*last)[0] == std::byte{2});
  }
}

TEST_CASE("a long report of links goes to the daemon in whole lines", "[wireup]") {
  const std::array<std::uint8_t, 32> key{};
  JobFacts facts;
  facts.hosts = {"a"};
  facts.host_of = {0};
  facts.key = key;
  const auto segment = make_segment(facts);
  REQUIRE(segment);
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
  const tutti::UniqueFd daemon(ends[0]);
  const std::map<std::string, std::string> variables{
      {kSegmentFdVariable, std::to_string(::dup(segment->fd()))},
      {kControlFdVariable, std::to_string(ends[1])},
      {kLocalRankVariable, "0"}};
  auto world = join(from(variables));
  REQUIRE(world);
  std::string lines, heard;
  for (int i = 0; i < 10000; ++i) lines += std::to_string(i) + "\ttcp\twhy\n";
  std::thread rank([&] {
    (*world)->report_links(lines);
    (*world)->lost_peer();  // the end of it
  });
  std::vector<char> message(sizeof(RankMessage) + kMaxRankPayload);
  for (;;) {
    const auto got = ::recv(daemon.get(), message.data(), message.size(), 0);
    RankMessage head{};
    if (got < static_cast<ssize_t>(sizeof head)) break;
    std::memcpy(&head, message.data(), sizeof head);
    if (static_cast<RankSays>(head.says) == RankSays::lost_peer) break;
    if (static_cast<RankSays>(head.says) != RankSays::links) continue;
    heard.append(message.data() + sizeof head, static_cast<std::size_t>(got) - sizeof head);
    CHECK(heard.back() == '\n');
  }
  rank.join();
  CHECK(heard == lines);
}

TEST_CASE("variables that say nonsense are named", "[wireup]") {
  const std::map<std::string, std::string> beyond{
      {"RANK", "4"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "localhost"}};
  const auto world = join(from(beyond));
  REQUIRE_FALSE(world);
  CHECK(world.error().text.find("RANK=4") != std::string::npos);
  const std::map<std::string, std::string> closed{
      {"PMI_FD", "987"}, {"PMI_RANK", "0"}, {"PMI_SIZE", "2"}};
  const auto rank = join(from(closed));
  REQUIRE_FALSE(rank);
  CHECK(rank.error().text.find("PMI_FD") != std::string::npos);
}

TEST_CASE("numbers that no launcher can mean are not cut to fit", "[wireup]") {
  using Variables = std::map<std::string, std::string>;
  const auto refusal = [](const Variables& variables) {
    const auto world = join(from(variables));
    return world ? "joined" : world.error().text;
  };
  const auto named = [&refusal](const Variables& variables, const std::string& sign) {
    CHECK(refusal(variables).find(sign) != std::string::npos);
  };
  // 2^32 + 2 and 2^32 + 987 are 2 and 987 in an int.
  named({{"RANK", "0"}, {"WORLD_SIZE", "4294967298"}, {"MASTER_ADDR", "localhost"}},
        "WORLD_SIZE=4294967298");
  named({{"RANK", "0"}, {"WORLD_SIZE", "2000000000"}, {"MASTER_ADDR", "localhost"}},
        "WORLD_SIZE=2000000000");
  named({{"PMI_FD", "987"}, {"PMI_RANK", "5"}, {"PMI_SIZE", "2"}}, "PMI_RANK=5");
  named({{"PMI_FD", "987"}, {"PMI_RANK", "0"}, {"PMI_SIZE", "1048577"}}, "PMI_SIZE=1048577");
  named({{"PMI_FD", "4294968283"}, {"PMI_RANK", "0"}, {"PMI_SIZE", "2"}},
        "PMI_FD is missing or no");
}

// A launcher that has said all beforehand, and then is gone; what the rank put up.
std::string card_under(const std::string& mapping) {
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  const tutti::UniqueFd launcher(ends[0]);
  const std::string answers =
      "cmd=response_to_init rc=0\ncmd=my_kvsname kvsname=job\n"
      "cmd=get_result rc=0 value=" +
      mapping + "\ncmd=put_result rc=0\n";
  REQUIRE(::write(launcher.get(), answers.data(), answers.size()) > 0);
  ::shutdown(launcher.get(), SHUT_WR);
  const std::map<std::string, std::string> variables{
      {"PMI_FD", std::to_string(ends[1])}, {"PMI_RANK", "1"}, {"PMI_SIZE", "2"}};
  CHECK_FALSE(join(from(variables)).has_value());
  std::string said(1 << 16, '\0');
  const ssize_t got = ::recv(launcher.get(), said.data(), said.size(), MSG_DONTWAIT);
  said.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  const std::size_t at = said.find("tutti-1-card value=");
  return at == std::string::npos ? "" : said.substr(at, said.find('\n', at) - at);
}

TEST_CASE("what a launcher refuses to keep stands in no line: rank 0's has the job's key",
          "[wireup]") {
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  const tutti::UniqueFd launcher(ends[0]);
  const std::string answers =
      "cmd=response_to_init rc=0\ncmd=my_kvsname kvsname=job\ncmd=get_result rc=-1\n"
      "cmd=put_result rc=-1 msg=too_long\n";
  REQUIRE(::write(launcher.get(), answers.data(), answers.size()) > 0);
  const std::map<std::string, std::string> variables{
      {"PMI_FD", std::to_string(ends[1])}, {"PMI_RANK", "0"}, {"PMI_SIZE", "2"}};
  const auto joined = join(from(variables));
  REQUIRE_FALSE(joined);
  const std::string& said = joined.error().text;
  CHECK(said.find("'cmd=put_result rc=-1 msg=too_long' to 'cmd=put kvsname=job "
                  "key=tutti-0-card' (PMI)") != std::string::npos);
}

TEST_CASE("a launcher that has closed its end, as behind a program before, is no signal",
          "[wireup]") {
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  ::close(ends[0]);
  const auto joined =
      join(from({{"PMI_FD", std::to_string(ends[1])}, {"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}));
  REQUIRE_FALSE(joined);
  CHECK(joined.error().text.find("has run an MPI program before") != std::string::npos);
}

TEST_CASE("a launcher's map of hosts is counted without overflow", "[wireup]") {
  CHECK(card_under("(vector,(3,2,1))").find("/4|") != std::string::npos);
  CHECK(card_under("(vector,(0,65536,65536))").find("/0|") != std::string::npos);
  for (const char* mapping : {"(vector,(4294967296,2,2))", "(vector,(0,99999999999999999999,1))"})
    CHECK(card_under(mapping).find("/|") != std::string::npos);
}

TEST_CASE("a rank whose descriptors were closed says so instead of being alone", "[wireup]") {
  const std::map<std::string, std::string> variables{
      {"TUTTI_SEGMENT_FD", "987"}, {"TUTTI_CONTROL_FD", "988"}, {"TUTTI_LOCAL_RANK", "0"}};
  const auto world = join(from(variables));
  REQUIRE_FALSE(world);
  CHECK(world.error().text.find("closed") != std::string::npos);
  const std::map<std::string, std::string> partial{{"TUTTI_JOB_ID", "1"}};
  CHECK_FALSE(join(from(partial)).has_value());
}

TEST_CASE("ranks in threads see their hosts, and each other's addresses", "[wireup]") {
  auto worlds = in_threads({0, 0, 1});
  REQUIRE(worlds.size() == 3);
  CHECK(worlds[0]->local_size() == 2);
  CHECK(worlds[2]->local_size() == 1);
  CHECK(worlds[2]->host() == 1);
  CHECK(worlds[1]->local_rank() == 1);
  CHECK(&worlds[0]->segment() == &worlds[1]->segment());
  const tutti::Blob address(5, std::byte{7});
  REQUIRE(worlds[2]->put(address));
  const auto got = worlds[0]->get(2);
  REQUIRE(got);
  CHECK(got->size() == 5);
  CHECK((*got)[4] == std::byte{7});
}

TEST_CASE("a program with more rights than who starts it is no rank of his", "[wireup]") {
  if (::geteuid() != 0) return;  // only root can take others' rights
  const std::map<std::string, std::string> none, launched{{"TUTTI_SEGMENT_FD", "3"}},
      elsewhere{{"PMI_SIZE", "2"}, {"PMI_FD", "3"}};
  for (const auto& [change, back] :
       {std::pair{+[] { return ::seteuid(65534); }, +[] { return ::seteuid(0); }},
        std::pair{+[] { return ::setegid(65534); }, +[] { return ::setegid(0); }}}) {
    REQUIRE(change() == 0);
    const auto by_prun = join(from(launched)), by_another = join(from(elsewhere));
    const bool is_alone = join(from(none)).has_value();
    REQUIRE(back() == 0);
    REQUIRE_FALSE((by_prun || by_another));
    CHECK(by_prun.error().text.find("set-uid") != std::string::npos);
    CHECK(by_another.error().text.find("set-uid") != std::string::npos);
    CHECK(is_alone);
  }
}
