"""What was wrong in Tutti once, each as changes of today's sources that put it back.

`features`, `link`, `ranks` and `begins` (run.py) are where random programs find it soonest, beside
what all of them do. A fault that is put back is found by what random programs do anyway: none has an
act that tries just its case.
"""
import dataclasses

BASE = "messages,collectives,dup,split,create,free,late"


@dataclasses.dataclass
class Fault:
    row: str       # its number, by which faults.py is asked for it
    name: str
    features: str  # beside BASE
    changes: dict  # path: [(what stands there, what is put there)]
    link: str = "shm"
    ranks: str = "2,3,4"
    begins: str = "any"


FAULTS = [
    Fault("1.3", "an intercommunicator's calls without a root say one", "inter,inter_coll", {
        "lib/comm/between.cc": [
            ("  shape.root = has_root(call.collective) ? joint_root(comm, call.root) : 0;\n",
             "  shape.root = joint_root(comm, call.root);\n")]}),
    Fault("1.3", "operations and types are compared across the sides of an intercommunicator", "inter,inter_coll", {
        "lib/comm/between.cc": [
            ("return fingerprint_of(call.collective, nullptr, 0, shape.bytes);",
             "return fingerprint(call, 0, shape.bytes, shape.type);")]}),
    Fault("1.3", "calls are compared by a number of the communicator that comes back", "", {
        "lib/comm/fingerprint.cc": [
            ("  state.record.birth = runtime.births_above + comm.birth();\n",
             "  state.record.birth = comm.context();\n")]}),
    Fault("1.7", "MPI_Comm_disconnect waits for nothing", "disconnect", {
        "bindings/mpi/body/comm.cc": [
            ("    comm::settle_messages(*object);\n  }\n  return end_comm", "  }\n  return end_comm"),
            ("  if (end == CommEnd::settled) comm::settle_messages(*object);\n", "")]}),
    Fault("1.7", "the last session leaves its offered messages behind", "last_words", {
        "lib/p2p/ending.cc": [
            ("  const auto is_over = [this] { return !has_moving() && untaken() == nullptr; };\n",
             "  const auto is_over = [this] { return !has_moving(); };\n")]}, begins="session"),
    Fault("1.8", "leaders of intercommunicators are not told apart", "inter,two_at_once", {
        "lib/comm/meeting.cc": [
            ("  return {at.context, p2p::as_job_rank(speaker), at.tag, 0};\n",
             "  return {at.context, 0, at.tag, 0};\n")]},
        ranks="3,4,5"),
    Fault("1.8", "only 26 bits of the tag are kept", "threads", {
        "lib/comm/meeting.cc": [
            ("  return {context_of(hash_of(hash_of(kNothingYet, known_context), members)), tag};\n",
             "  return {context_of(hash_of(hash_of(kNothingYet, known_context), members)), tag & 0x3ffffff};\n")]}),
    Fault("1.8", "leaders from groups meet where their groups do", "inter_from_groups", {
        "lib/comm/meeting.cc": [
            ("  return {at.context, p2p::as_job_rank(speaker), at.tag, 0};\n",
             "  return {at.context, 0, at.tag, 0};\n")],
        "lib/comm/inter.cc": [
            ("  const Meeting local(runtime, group.members(), place_of(bridge.text, group.members()));\n",
             "  const Meeting local(runtime, group.members(), place_of(bridge.text, {}));\n")]},
        ranks="3,4,5"),
    Fault("1.9", "a value that a copy function has deleted is copied", "mean_attributes", {
        "bindings/mpi/attributes.cc": [
            ("Code copy_attribute(const Carrier& from,",
             "std::map<int, const Value*> snapshot;\nCode copy_attribute(const Carrier& from,"),
            ("  const Value* const value = value_at(from, number);\n"
             "  if (value == nullptr) return Code::ok;  // another key's function has deleted it\n",
             "  const Value* const value = snapshot[number];\n"),
            ("  std::vector<int> before;  // a copy function may delete and add others\n",
             "  snapshot.clear();\n  std::vector<int> before;\n"
             "  for (const auto& [number, value] : from.values)\n"
             "    snapshot[number] = static_cast<Value*>(value);\n")]}),
    Fault("1.9", "a key that its copy function frees is gone at once", "mean_attributes", {
        "bindings/mpi/attributes.cc": [
            ("    ++keys().at(number).uses;\n  }\n  ~InUse() { unuse(number_); }", "  }\n  ~InUse() {}")]}),
    Fault("1.9", "what was copied stays where a later copy function fails", "mean_attributes", {
        "bindings/mpi/attributes.cc": [
            ("    drop_all_attributes(to);  // the new object is never seen: its values go as they came\n", "")]}),
    Fault("1.10", "arguments that are not significant are passed on", "garbage", {
        "bindings/mpi/gen/wrappers.py": [
            ('        return "(%s) ? %s : %s" % (absent, nothing, value) if absent else value',
             "        return value")]}),
    Fault("1.11", "who wants no part in MPI_Comm_split_type makes other calls", "split_type,guided", {
        "bindings/mpi/body/hardware.cc": [
            ("    case MPI_UNDEFINED:\n      break;\n",
             "    case MPI_UNDEFINED:\n"
             "      return give_comm(comm, comm::split(comm, MPI_UNDEFINED, key), newcomm);\n")]}),
    Fault("1.11", "MPI_Cart_map asks the other ranks", "topology,maps_alone", {
        "bindings/mpi/body/cartesian.cc": [
            ("  *newrank =\n      place_in(comm::place_near(edges_of(grid, nodes), nodes, comm::hosts_in(comm)),"
             " comm.rank());\n",
             "  const auto order = order_of(comm, edges_of(grid, nodes), nodes, true);\n"
             "  if (!order) return note(order);\n  *newrank = place_in(*order, comm.rank());\n")]}),
    Fault("1.11", "MPI_Graph_map asks the other ranks", "topology,maps_alone", {
        "bindings/mpi/body/graph.cc": [
            ("  *newrank = place_in(comm::place_near(edges_of(graph, nnodes), nnodes, comm::hosts_in(comm)),\n"
             "                      comm.rank());\n",
             "  const auto order = order_of(comm, edges_of(graph, nnodes), nnodes, true);\n"
             "  if (!order) return note(order);\n  *newrank = place_in(*order, comm.rank());\n")]}),
    Fault("1.12", "a communicator that is freed loses its error handler", "freed_with_receive", {
        "bindings/mpi/body/comm.cc": [
            ("  object->release();  // what is under way on it keeps it, and its error handler\n",
             "  set_errhandler(*object, nullptr);\n  object->release();\n")]}),
    Fault("1.12", "a communicator that is made from groups has the default handler", "from_groups,inter_from_groups", {
        "bindings/mpi/give_comm.cc": [
            ("  return give(std::move(made), from, &handler, newcomm);\n",
             "  return give(std::move(made), from, nullptr, newcomm);\n")]}),
    Fault("1.12", "errors in making a communicator are told to another handler than the given one",
          "from_groups,given_handler", {
              "bindings/mpi/gen/wrappers.py": [
                  ('        elif any(p.kind == "ERRHANDLER" and p.direction == "in" for p in self.params):\n',
                   "        elif False:\n")]}),
    Fault("1.12", "MPI_Finalize believes that MPI_Init was called", "errors", {
        "bindings/mpi/body/init.cc": [
            ("  if (process.phase.load(std::memory_order_acquire) != ProcessPhase::running)\n",
             "  if (process.phase.load(std::memory_order_acquire) >= ProcessPhase::finalized)\n")]},
        begins="session"),
    Fault("long", "a block that is read goes on where the own one has come to", "long,layouts", {
        "lib/delegate/shm/direct.cc": [
            ("  Count& at = exchange.read;\n", "  Count& at = exchange.own_copied;\n")]},
        ranks="2,2,3"),
]
