// The matrix that --report-links prints.
#include "job/links.h"

#include "catch.h"

using tutti::launch::job::link_matrix;

TEST_CASE("the matrix has a row a rank, and each reason once", "[job]") {
  const std::map<int, std::string> said{
      {0, "0-0\tself\titself\n1-1\ttcp\tanother host\n-\tnot used\tucx: no RDMA device\n"},
      {1, "0\ttcp\tanother host\n1\tself\titself\n-\tnot used\tucx: no RDMA device\n"}};
  CHECK(link_matrix(said, {"a", "b"}) ==
        "links (row sends to column)\n"
        "           0     1\n"
        "   a 0  self   tcp\n"
        "   b 1   tcp  self\n"
        "self: itself (2)\n"
        "tcp: another host (2)\n"
        "not used: ucx: no RDMA device\n");
}

TEST_CASE("a rank that said nothing shows as unknown", "[job]") {
  const std::map<int, std::string> said{{0, "0\tself\titself\nnonsense\n"}};
  const std::string text = link_matrix(said, {"a", "a"});
  CHECK(text.find("   a 1     ?     ?\n") != std::string::npos);
  CHECK(text.find("not told: 3 of 4 links\n") != std::string::npos);
}

TEST_CASE("many ranks are summed up by pairs of hosts", "[job]") {
  std::map<int, std::string> said;
  std::vector<std::string> hosts;
  for (int rank = 0; rank < 40; ++rank) {
    hosts.push_back(rank < 20 ? "a" : "b");
    for (int peer = 0; peer < 40; ++peer)
      said[rank] +=
          std::to_string(peer) + "\t" + ((rank < 20) == (peer < 20) ? "shm" : "tcp") + "\twhy\n";
  }
  const std::string text = link_matrix(said, hosts);
  CHECK(text.find("a -> b: tcp x400\n") != std::string::npos);
  CHECK(text.find("a -> a: shm x380\n") != std::string::npos);
}

TEST_CASE("names of links that no library has are left out, and who said them is told of",
          "[job]") {
  std::map<int, std::string> said{{0, "0\tself\titself\n1\t" + std::string(33, 'x') + "\twhy\n"}};
  for (int i = 0; i < 9; ++i) said[1] += "0\tlink" + std::to_string(i) + "\twhy\n";
  const std::string text = link_matrix(said, {"a", "a"});
  CHECK(text.find("xxx") == std::string::npos);
  CHECK(text.find("link7: why (1)\n") != std::string::npos);
  CHECK(text.find("link8") == std::string::npos);
  CHECK(text.find("ranks 0-1 named links that are none (more than 8, or of more than 32 bytes): "
                  "they are left out\n") != std::string::npos);
}

TEST_CASE("peers in a row that are reached alike take a line", "[job]") {
  std::map<int, std::string> said;
  std::vector<std::string> hosts;
  for (int rank = 0; rank < 40; ++rank) {
    hosts.push_back(rank % 2 == 0 ? "a" : "b");
    said[rank] = "0-38\ttcp\twhy\n";
  }
  said[0] += "39-39\tshm\tanother why\n";
  said[2] += "0-39\tself\ta later program\n";
  const std::string text = link_matrix(said, hosts);
  CHECK(text.find("a -> b: self x20 shm x1 tcp x361\n") != std::string::npos);
  CHECK(text.find("a -> a: self x19 tcp x361\n") != std::string::npos);
  CHECK(text.find("b -> b: tcp x361\n") != std::string::npos);
  CHECK(text.find("tcp: why (1521)\n") != std::string::npos);
  CHECK(text.find("not told: 38 of 1600 links\n") != std::string::npos);
}

TEST_CASE("peers that the job does not have are left out", "[job]") {
  for (const std::string peer : {"-1", "40", "2147483647", "4294967296", "3-2", "0-40"}) {
    const std::map<int, std::string> said{{0, peer + "\ttcp\twhy\n"}};
    const std::vector<std::string> few(2, "a"), many(40, "a");
    CHECK(link_matrix(said, many) == "links (row sends to column)\nnot told: 1600 of 1600 links\n");
    if (peer != "40") CHECK(link_matrix(said, few).find("why") == std::string::npos);
  }
}
