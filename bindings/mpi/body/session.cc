// Chapter 11: sessions: uses of MPI apart from MPI_Init, with named sets of processes.
#include <iterator>
#include <optional>

#include "bodies.h"
#include "mpi/buffered.h"
#include "mpi/checks.h"
#include "mpi/convert.h"
#include "mpi/errors.h"
#include "mpi/memory_kinds.h"
#include "mpi/process_sets.h"
#include "mpi/trouble.h"

namespace tutti::mpi::body {
namespace {

constexpr const char* kThreadLevel = "thread_level";
constexpr const char* kLevels[] = {"MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED",
                                   "MPI_THREAD_SERIALIZED", "MPI_THREAD_MULTIPLE"};

// The level a session asks for; without a word the safe one.
world::ThreadLevel wanted_level(const Info* info) {
  const std::string* const wanted = info == nullptr ? nullptr : info->find(kThreadLevel);
  for (int level = 0; wanted != nullptr && level < 4; ++level)
    if (*wanted == kLevels[level]) return static_cast<world::ThreadLevel>(level);
  return world::ThreadLevel::multiple;
}

// The sets of processes, by name: all of the job, this one, those of this host.
constexpr const char* kSets[] = {kWorldSet, kSelfSet, kHostSet};
constexpr int kSetCount = static_cast<int>(std::size(kSets));

std::optional<std::vector<int>> members_of(const std::string& set) {
  const wireup::Wireup& job = process.world->wireup();
  const bool is_world = is_set(set, kWorldSet), is_host = is_set(set, kHostSet);
  if (is_set(set, kSelfSet)) return std::vector{job.rank()};
  if (!is_world && !is_host) return std::nullopt;
  std::vector<int> members;
  for (int rank = 0; rank < job.size(); ++rank)
    if (is_world || job.host_of(rank) == job.host()) members.push_back(rank);
  return members;
}

Code unknown_set(const char* name) {
  return refuse(Code::arg, "there is no process set '" + std::string(name) +
                               "'; MPI_Session_get_nth_pset names those there are");
}

}  // namespace

Code session_init(Info* info, Errhandler& errhandler, MPI_Session* session) {
  if (errhandler.action == Errhandler::Action::user && errhandler.serves != ObjectKind::session)
    return refuse(Code::errhandler, "the error handler was not made for sessions");
  const Result<void> opened = open_world(function::Session_init, wanted_level(info));
  if (!opened) return note(opened);
  auto* const made = new Session();
  const std::string* const kinds = info == nullptr ? nullptr : info->find(kKindsKey);
  made->kinds_asked = kinds != nullptr ? *kinds : kinds_asked_for();
  attach(made->errhandler, &errhandler);
  *session = handle_to(made, MPI_SESSION_NULL);
  return Code::ok;
}

Code session_finalize(MPI_Session* session) {
  Session* const object = session_of(*session);
  if (object == nullptr)
    return refuse_handle(static_cast<Code>(MPI_ERR_SESSION), "session", "session",
                         bits_of(*session));
  close_buffer_room(object);
  object->release();
  *session = MPI_SESSION_NULL;
  close_world();
  return Code::ok;
}

Code session_get_num_psets(Session& /*session*/, Info* /*info*/, int* npset_names) {
  *npset_names = kSetCount;
  return Code::ok;
}

// *pset_len: room with the zero; 0 asks for what is needed (MPI 5.0, 11.3.3).
Code session_get_nth_pset(Session& /*session*/, Info* /*info*/, int n, int* pset_len,
                          char* pset_name) {
  if (n < 0 || n >= kSetCount)
    return refuse(Code::arg, "n is " + std::to_string(n) + " of " + std::to_string(kSetCount) +
                                 " process sets");
  const std::string_view name = kSets[n];
  if (*pset_len > 0 && pset_name == nullptr) return refuse(Code::arg, "pset_name is null");
  if (*pset_len > 0) put_text(name, pset_name, *pset_len);
  *pset_len = static_cast<int>(name.size()) + 1;
  return Code::ok;
}

Code session_get_pset_info(Session& /*session*/, const char* pset_name, MPI_Info* info) {
  const auto members = members_of(pset_name);
  if (!members) return unknown_set(pset_name);
  auto* const made = new Info();
  made->set("mpi_size", std::to_string(members->size()));
  *info = handle_to(made, MPI_INFO_NULL);
  return Code::ok;
}

Code session_get_info(Session& session, MPI_Info* info_used) {
  auto* const made = new Info();
  made->set(kThreadLevel, kLevels[static_cast<int>(process.world->level())]);
  made->set(kKindsKey, kinds_provided(session.kinds_asked));
  *info_used = handle_to(made, MPI_INFO_NULL);
  return Code::ok;
}

Code group_from_session_pset(Session& session, const char* pset_name, MPI_Group* newgroup) {
  auto members = members_of(pset_name);
  if (!members) return unknown_set(pset_name);
  auto made = comm::GroupRef::adopt(new comm::Group(std::move(*members)));
  made->session = session.handle();
  *newgroup = handle_to(made.hand_out(), MPI_GROUP_NULL);
  return Code::ok;
}

}  // namespace tutti::mpi::body
