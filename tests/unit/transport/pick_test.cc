// Which link is taken, and the words for it.
#include "fake_transport.h"
#include "rig.h"

using namespace tutti;
using namespace tutti::test;

namespace {

Result<Route> pick_between(Rig& rig, int from, int to) {
  End& end = rig[from];
  return pick(end.opened, rig.peer(from, to), end.knobs);
}

std::string name_of(Rig& rig, int from, const Route& route) {
  return rig[from].opened.transports[route.ordered.index]->name();
}

}  // namespace

TEST_CASE("a rank reaches itself by self and its neighbour by shm", "[pick]") {
  Rig rig({0, 0}, Knobs::defaults());
  REQUIRE(name_of(rig, 0, *pick_between(rig, 0, 0)) == "self");
  const auto picked = pick_between(rig, 0, 1);
  REQUIRE(name_of(rig, 0, *picked) == "shm");
  REQUIRE(picked->ordered.traits.why.find("same host") != std::string::npos);
}

TEST_CASE("a link that is not used says why", "[pick]") {
  Rig rig({0}, Knobs::defaults());
  std::string all;
  for (const std::string& line : rig[0].opened.left_out) all += line + "\n";
  REQUIRE(all.find("shm: this rank is alone on its host") != std::string::npos);
}

TEST_CASE("what a user has said wrong is the first of the reasons", "[pick]") {
  for (const char* knob : {"TUTTI_TCP_CONGESTION", "TUTTI_INTERFACES"}) {
    Rig rig({0, 1}, knobs_with({{knob, "nosuch"}}));
    const auto picked = pick_between(rig, 0, 1);
    REQUIRE_FALSE(picked.has_value());
    const std::string start = std::string("tcp: ") + knob + "=nosuch: ";
    REQUIRE(picked.error().text.starts_with("no link reaches rank 1 (host 1): " + start));
  }
}

TEST_CASE("a peer that no permitted link reaches is named with every reason", "[pick]") {
  Rig rig({0, 0, 1}, knobs_with({{"TUTTI_LINK", "shm"}}));
  REQUIRE(pick_between(rig, 0, 1).has_value());
  const auto picked = pick_between(rig, 0, 2);
  REQUIRE_FALSE(picked.has_value());
  const std::string& said = picked.error().text;
  REQUIRE(said.starts_with("no link reaches rank 2 (host 1): TUTTI_LINK=shm leaves out "));
  REQUIRE(said.find("tcp; shm: another host; ") != std::string::npos);
  REQUIRE(said.find("TUTTI_LINK", said.find("TUTTI_LINK") + 1) == std::string::npos);
  REQUIRE(said.find("self") == std::string::npos);
}

TEST_CASE("single copy can be forbidden, and the report says so", "[pick]") {
  Rig rig({0, 0}, knobs_with({{"TUTTI_SINGLE_COPY", "off"}}));
  const auto picked = pick_between(rig, 0, 1);
  REQUIRE_FALSE(picked->ordered.traits.gets);
  REQUIRE(picked->ordered.traits.why.find("TUTTI_SINGLE_COPY=off") != std::string::npos);
}

namespace {

// The fake transports of rank 0 of 2, in this order.
struct Fakes {
  Recorder sink;
  std::vector<std::unique_ptr<FakeNet>> nets;
  Opened opened;
  void add_rail(const std::string& name) { add(name, 1000, 4096, true); }
  void add(const std::string& name, std::size_t bulk_from, std::size_t max_frame = 4096,
           bool is_rail = false) {
    FakeOptions options;
    options.name = name;
    options.max_frame = max_frame;
    options.bulk_from = bulk_from;
    options.is_rail = is_rail;
    nets.push_back(std::make_unique<FakeNet>(2, options));
    opened.transports.push_back(nets.back()->open(0, &sink));
  }
};

std::string names_of(const Fakes& fakes, const Route& route) {
  std::string text = fakes.opened.transports[route.ordered.index]->name();
  for (const Picked& each : route.bulk)
    text += std::string(" ") + fakes.opened.transports[each.index]->name();
  return text;
}

// The names of the links to rank 1, where TUTTI_LINK says `named`; the ordered one first.
std::string route_to_neighbour(const Fakes& fakes, const char* named) {
  const Peer peer{1, 0, 1, true};
  const auto found = pick(fakes.opened, peer, knobs_with({{"TUTTI_LINK", named}}));
  REQUIRE(found.has_value());
  return names_of(fakes, *found);
}

}  // namespace

TEST_CASE("a link that only reads memory is told from one that reaches nobody", "[pick]") {
  Fakes fakes;
  fakes.add("cuda_ipc", kNever, 0);
  Rig rig({0, 0}, Knobs::defaults());
  const auto picked = pick(fakes.opened, rig.peer(0, 1), knobs_with({{"TUTTI_LINK", "cuda_ipc"}}));
  REQUIRE_FALSE(picked.has_value());
  REQUIRE(picked.error().text.find("cuda_ipc: sends no messages, only reads GPU memory: name "
                                   "another link, too (shm,cuda_ipc)") != std::string::npos);
}

TEST_CASE("a peer has one ordered link, and beside it those that carry bulk data", "[pick]") {
  Fakes fakes;
  fakes.add("shm", kNever);
  fakes.add("ucx", 100);
  fakes.add("tcp", kNever);
  fakes.add("new", 1000);
  const auto route = [&](const char* named) { return route_to_neighbour(fakes, named); };
  REQUIRE(route("auto") == "shm ucx new");
  REQUIRE(route("tcp,ucx") == "tcp ucx");
  REQUIRE(route("ucx,tcp") == "ucx");
  REQUIRE(route("shm") == "shm");
}

TEST_CASE("rails carry beside the ordered link of their own transport only", "[pick]") {
  Fakes fakes;
  fakes.add("shm", kNever);
  fakes.add("ucx", 100);
  fakes.add("tcp", kNever);
  fakes.add_rail("tcp");
  fakes.add_rail("tcp");
  const auto route = [&](const char* named) { return route_to_neighbour(fakes, named); };
  REQUIRE(route("auto") == "shm ucx");
  REQUIRE(route("ucx,tcp") == "ucx");
  REQUIRE(route("tcp") == "tcp tcp tcp");
  REQUIRE(route("tcp,ucx") == "tcp tcp tcp ucx");
}

TEST_CASE("a bulk link carries what is long enough, between the kinds of memory it knows",
          "[pick]") {
  Traits bulk;
  constexpr MemoryKind host = MemoryKind::host, cuda = MemoryKind::cuda;
  REQUIRE_FALSE(carries(bulk, kNever - 1, host, host));
  bulk.bulk_from = 1000;
  REQUIRE_FALSE(carries(bulk, 999, host, host));
  REQUIRE(carries(bulk, 1000, host, host));
  REQUIRE_FALSE(carries(bulk, 1000, cuda, host));
  REQUIRE_FALSE(carries(bulk, 1000, host, cuda));
  bulk.kinds = kinds_of(cuda);
  REQUIRE(carries(bulk, 1000, cuda, cuda));
  REQUIRE_FALSE(carries(bulk, 1000, host, cuda));
  bulk.kinds |= kinds_of(host);
  REQUIRE(carries(bulk, 1000, host, cuda));
}
