// Messages of all modes, received early, in time or late, by all ways there are.
#include <algorithm>
#include <cstring>

#include "random.h"

namespace program {

Data::Data(int n, Layout layout) : count(n) {
  stride = layout == spread ? 2 : 1;
  memory.assign(as_size(n) * stride + 1, 0xA5A5A5A5U);
  type = MPI_UINT32_T;
  if (layout == bytes) {
    type = MPI_BYTE;
    count = n * 4;
  }
  if (layout == spread) {
    OK(MPI_Type_vector(n, 1, 2, MPI_UINT32_T, &type));
    count = 1;
  }
  if (layout == pairs && n % 2 == 0) {
    OK(MPI_Type_contiguous(2, MPI_UINT32_T, &type));
    count = n / 2;
  }
  is_derived = type != MPI_UINT32_T && type != MPI_BYTE;
  if (is_derived) OK(MPI_Type_commit(&type));
}

Data::~Data() {
  drop_type();
}

void Data::drop_type() {
  if (is_derived && type != MPI_DATATYPE_NULL) MPI_Type_free(&type);
}

void Data::fill(std::uint64_t id) {
  for (std::size_t i = 0; i * stride + 1 < memory.size(); ++i) memory[i * stride] = word(id, i);
}

void Data::spoil() {
  std::fill(memory.begin(), memory.end(), 0xDEADBEEFU);
}

// The first n words are the message's; nothing beyond them was written.
bool Data::holds(std::uint64_t id, int n) const {
  for (std::size_t i = 0; i < as_size(n); ++i)
    if (memory[i * stride] != word(id, i)) return false;
  for (std::size_t i = as_size(n) * stride; i < memory.size(); ++i)
    if (memory[i] != 0xA5A5A5A5U) return false;
  for (std::size_t i = 1; stride == 2 && i < as_size(n) * 2; i += 2)
    if (memory[i] != 0xA5A5A5A5U) return false;
  return true;
}

int random_count(Random& random) {
  const int kind = random.below(40);
  const int drawn = random.below(1 << 20);
  if (kind == 0 && world->on("huge")) return 200000 + drawn;
  if (kind < 5) return 4000 + drawn % 60000;
  if (kind < 14) return drawn % 4000;
  return drawn % 65;
}

void wait_for(MPI_Request& request, MPI_Status* status) {
  int done = 0;
  switch (world->mine.below(4)) {
    case 0:
      while (done == 0) OK(MPI_Test(&request, &done, status));
      break;
    case 1:
      while (done == 0) OK(MPI_Request_get_status(request, &done, MPI_STATUS_IGNORE));
      [[fallthrough]];
    default:
      OK(MPI_Wait(&request, status));
  }
}

void wait_for_all(std::vector<MPI_Request>& requests) {
  const int n = static_cast<int>(requests.size());
  int index = 0;
  int done = 0;
  std::vector<int> which(requests.size() + 1);
  switch (world->mine.below(5)) {
    case 0:
      while (index != MPI_UNDEFINED) OK(MPI_Waitany(n, requests.data(), &index, MPI_STATUS_IGNORE));
      break;
    case 1:
      while (index != MPI_UNDEFINED)
        OK(MPI_Waitsome(n, requests.data(), &index, which.data(), MPI_STATUSES_IGNORE));
      break;
    case 2:
      while (done == 0) OK(MPI_Testall(n, requests.data(), &done, MPI_STATUSES_IGNORE));
      break;
    case 3:
      while (index != MPI_UNDEFINED) {
        OK(MPI_Testany(n, requests.data(), &index, &done, MPI_STATUS_IGNORE));
        if (done == 0) index = 0;
      }
      break;
    default:
      OK(MPI_Waitall(n, requests.data(), MPI_STATUSES_IGNORE));
  }
}

namespace {

enum Mode { send, ssend, bsend, rsend, isend, issend, ibsend, freed, sendrecv, modes };
enum When { early, now, late };
constexpr int kReady = 32000;  // above all tags: the receive of a ready send is posted

struct Message {
  int from, to;  // ranks of the job
  std::uint64_t id;
  int tag, words;
  Mode mode;
  When when;
  bool any_source, in_bytes;
  int delay;
};

bool blocks(Mode mode) {
  return mode == send || mode == ssend || mode == rsend;
}

Message draw(Node& node) {
  Random& plan = world->plan;
  Message m{};
  const bool from_b = node.is_inter && plan.one_in(2);
  const Ranks& side = from_b ? node.b : node.a;
  m.from = side[as_size(plan.below(static_cast<int>(side.size())))];
  const Ranks& other = node.remote(m.from);
  m.to = other[as_size(plan.below(static_cast<int>(other.size())))];
  m.id = world->id();
  m.tag = world->tag();
  m.words = random_count(plan);
  m.mode = static_cast<Mode>(plan.below(modes));
  m.when = static_cast<When>(plan.below(3));
  m.any_source = plan.one_in(4);
  m.in_bytes = plan.one_in(4);
  m.delay = plan.between(1, 8);
  if (m.mode == rsend) m.when = early;
  if (m.when == late && (blocks(m.mode) || m.mode == sendrecv)) m.mode = isend;
  if (m.mode == sendrecv) m.when = now;
  if (m.from == m.to && m.mode != sendrecv && m.when == now) m.when = early;
  return m;
}

Data::Layout layout_of(const Message& m) {
  return m.in_bytes ? Data::bytes : static_cast<Data::Layout>(world->mine.below(3));
}

int source_of(const Node& node, const Message& m) {
  return m.any_source ? MPI_ANY_SOURCE : node.index(m.from);
}

void check(const Node& node, const Message& m, const Data& data, const MPI_Status& status) {
  RIGHT(status.MPI_SOURCE == node.index(m.from));
  RIGHT(status.MPI_TAG == m.tag);
  int count = 0;
  OK(MPI_Get_count(&status, m.in_bytes ? MPI_BYTE : MPI_UINT32_T, &count));
  RIGHT(count == (m.in_bytes ? 4 * m.words : m.words));
  if (!data.holds(m.id, m.words)) {
    const auto bad = std::find_if(data.memory.begin(), data.memory.end(), [&](const auto& one) {
      return one != word(m.id, static_cast<std::size_t>(&one - data.memory.data()) / data.stride);
    });
    fail(__FILE__, __LINE__,
         "wrong contents of " + std::to_string(m.words) + " words from " + std::to_string(m.from) +
             " in mode " + std::to_string(m.mode) + ", first at " +
             std::to_string(bad - data.memory.begin()));
  }
}

void receive_now(const Node& node, const Message& m) {
  Data data(m.words, layout_of(m));
  const int source = source_of(node, m);
  MPI_Status status;
  MPI_Message found = MPI_MESSAGE_NULL;
  int is_there = 0;
  switch (world->mine.below(4)) {
    case 0:
      OK(MPI_Probe(source, m.tag, node.comm, &status));
      OK(MPI_Recv(data.memory.data(), data.count, data.type, status.MPI_SOURCE, m.tag, node.comm,
                  &status));
      break;
    case 1:
      OK(MPI_Mprobe(source, m.tag, node.comm, &found, &status));
      OK(MPI_Mrecv(data.memory.data(), data.count, data.type, &found, &status));
      break;
    case 2: {
      while (is_there == 0) OK(MPI_Improbe(source, m.tag, node.comm, &is_there, &found, &status));
      MPI_Request request;
      OK(MPI_Imrecv(data.memory.data(), data.count, data.type, &found, &request));
      data.drop_type();
      wait_for(request, &status);
      break;
    }
    default:
      OK(MPI_Recv(data.memory.data(), data.count, data.type, source, m.tag, node.comm, &status));
  }
  check(node, m, data, status);
}

// Posted now, completed at a later step: perhaps when the communicator is long freed.
void receive_early(Node& node, const Message& m) {
  auto data = std::make_shared<Data>(m.words, layout_of(m));
  MPI_Request request;
  OK(MPI_Irecv(data->memory.data(), data->count, data->type, source_of(node, m), m.tag, node.comm,
               &request));
  if (world->is_mean(3)) data->drop_type();
  if (m.mode == rsend) {
    MPI_Request told;
    OK(MPI_Isend(nullptr, 0, MPI_BYTE, node.index(m.from), kReady, node.comm, &told));
    OK(MPI_Request_free(&told));
  }
  world->later(
      &node, false,
      [&node, m, data, request]() mutable {
        MPI_Status status;
        wait_for(request, &status);
        check(node, m, *data, status);
      },
      m.delay);
}

using Sender = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm);
using Starter = int (*)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

void send_it(Node& node, const Message& m) {
  auto data = std::make_shared<Data>(m.words, layout_of(m));
  data->fill(m.id);
  const int to = node.index(m.to);
  Mode mode = m.mode;
  if ((mode == bsend || mode == ibsend) && !world->fits_in_buffer(as_size(m.words) * 4))
    mode = isend;
  if (mode == rsend) OK(MPI_Recv(nullptr, 0, MPI_BYTE, to, kReady, node.comm, MPI_STATUS_IGNORE));
  if (blocks(mode) || mode == bsend) {
    const Sender call = mode == send    ? MPI_Send
                        : mode == ssend ? MPI_Ssend
                        : mode == bsend ? MPI_Bsend
                                        : MPI_Rsend;
    OK(call(data->memory.data(), data->count, data->type, to, m.tag, node.comm));
    data->spoil();
    return;
  }
  const Starter call = mode == issend ? MPI_Issend : mode == ibsend ? MPI_Ibsend : MPI_Isend;
  MPI_Request request;
  OK(call(data->memory.data(), data->count, data->type, to, m.tag, node.comm, &request));
  if (world->is_mean(3)) data->drop_type();
  if (mode == freed) {
    OK(MPI_Request_free(&request));
    world->kept.push_back(data);
    return;
  }
  world->later(
      &node, false,
      [data, request]() mutable {
        wait_for(request);
        data->spoil();
      },
      m.delay);
}

void both_ways(const Node& node, const Message& m) {
  const int me = world->rank;
  const int other = node.index(me == m.from ? m.to : m.from);
  if (me != m.from && me != m.to) return;
  const std::uint64_t sent = mix(m.id, static_cast<std::uint64_t>(me));
  Message got = m;
  got.from = me == m.from ? m.to : m.from;
  got.id = mix(m.id, static_cast<std::uint64_t>(got.from));
  const int count = std::min(m.words, 70000);
  got.words = count;
  got.in_bytes = false;
  MPI_Status status;
  if (m.any_source) {
    Data data(count, Data::words);
    data.fill(sent);
    OK(MPI_Sendrecv_replace(data.memory.data(), data.count, data.type, other, m.tag, other, m.tag,
                            node.comm, &status));
    return check(node, got, data, status);
  }
  Data out(count, Data::words);
  Data in(count, static_cast<Data::Layout>(world->mine.below(3)));
  out.fill(sent);
  OK(MPI_Sendrecv(out.memory.data(), out.count, out.type, other, m.tag, in.memory.data(), in.count,
                  in.type, other, m.tag, node.comm, &status));
  check(node, got, in, status);
}

void take_part(Node& node, const Message& m) {
  const int me = world->rank;
  if (m.mode == sendrecv) return both_ways(node, m);
  if (me == m.from) send_it(node, m);
  if (me != m.to) return;
  if (m.when == now) receive_now(node, m);
  if (m.when == late)
    world->later(
        &node, true, [&node, m] { receive_now(node, m); }, m.delay);
}

}  // namespace

void exchange() {
  Node* node = world->pick([](const Node&) { return true; });
  std::vector<Message> messages;
  for (int n = world->plan.between(1, 8); n > 0; --n) messages.push_back(draw(*node));
  for (const Message& m : messages)
    node->quiet_from = std::max(node->quiet_from, world->step + m.delay + 1);
  if (!node->has(world->rank)) return;
  for (const Message& m : messages)
    if (m.when == early && m.to == world->rank) receive_early(*node, m);
  for (const Message& m : messages) take_part(*node, m);
}

}  // namespace program
