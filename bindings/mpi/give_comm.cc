// Handing out communicators; their hints.
#include "mpi/give_comm.h"

#include <algorithm>

#include "mpi/memory_kinds.h"

namespace tutti::mpi {
namespace {

struct Hint {
  const char* key;
  const char* unset;  // its value by default
  bool is_assertion;  // "true" or "false"
};
constexpr const char* kAlgorithms = "tutti_algorithms";
// Nothing waits for the standard's assertions (docs/decisions/0016); get_info says what was
// promised.
constexpr Hint kHints[] = {
    {"mpi_assert_no_any_tag", "false", true},
    {"mpi_assert_no_any_source", "false", true},
    {"mpi_assert_exact_length", "false", true},
    {"mpi_assert_allow_overtaking", "false", true},
    {"mpi_assert_strict_persistent_collective_ordering", "false", true},
    {kAssertedKindsKey, "", false},
    {kAlgorithms, "", false},
};

Code give(Result<comm::CommRef>&& made, const comm::Group& from, Errhandler* handler,
          MPI_Comm* newcomm) {
  if (!made) return note(made);
  if (!*made) {
    *newcomm = MPI_COMM_NULL;
    return Code::ok;
  }
  (*made)->group().session = from.session;
  set_errhandler(**made, handler);
  *newcomm = handle_to(made->hand_out(), MPI_COMM_NULL);
  return Code::ok;
}

std::string* find(comm::Communicator& comm, std::string_view key) {
  for (auto& [name, value] : comm.hints)
    if (name == key) return &value;
  return nullptr;
}

}  // namespace

Code give_comm(comm::Communicator& parent, Result<comm::CommRef>&& made, MPI_Comm* newcomm) {
  return give(std::move(made), parent.group(), parent.errhandler ? errhandler_on(parent) : nullptr,
              newcomm);
}

Code give_comm(Errhandler& handler, const comm::Group& from, Result<comm::CommRef>&& made,
               MPI_Comm* newcomm) {
  return give(std::move(made), from, &handler, newcomm);
}

void set_hints(comm::Communicator& comm, const Info& info) {
  for (const auto& [key, value] : info.pairs) {
    const auto hint = std::find_if(std::begin(kHints), std::end(kHints),
                                   [&key = key](const Hint& each) { return key == each.key; });
    if (hint == std::end(kHints)) continue;
    if (hint->is_assertion && value != "true" && value != "false") continue;
    if (key == kAssertedKindsKey && !are_kinds_provided(value)) continue;
    if (key == kAlgorithms) comm::force(comm, value);
    if (std::string* const old = find(comm, key); old != nullptr)
      *old = value;
    else
      comm.hints.emplace_back(key, value);
  }
}

Info* hints_of(const comm::Communicator& comm) {
  auto* const info = new Info();
  for (const Hint& hint : kHints)
    if (hint.unset[0] != '\0') info->set(hint.key, hint.unset);
  const Session* const session =
      object_at<Session>(comm.group().session, ObjectKind::session);  // null: MPI_COMM_WORLD's
  info->set(kKindsKey,
            kinds_provided(session == nullptr ? kinds_asked_for() : session->kinds_asked));
  for (const auto& [key, value] : comm.hints) info->set(key, value);
  return info;
}

}  // namespace tutti::mpi
