// Raising errors: the thread's trouble, the handler, and the one line before the job ends.
#include "mpi/errors.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <new>
#include <stdexcept>
#include <system_error>

#include "base/exit_status.h"
#include "base/log.h"
#include "mpi/call.h"
#include "mpi/callback.h"
#include "mpi/checks.h"
#include "mpi/last_writes.h"
#include "mpi/place.h"
#include "mpi/trouble.h"

namespace tutti::mpi {
namespace {

// Kept from MPI_Comm_set_errhandler until the communicator is freed or gets another one.
Errhandler g_fatal{Errhandler::Action::fatal, bits_of(MPI_ERRORS_ARE_FATAL)};
Errhandler g_abort{Errhandler::Action::abort, bits_of(MPI_ERRORS_ABORT)};
Errhandler g_return{Errhandler::Action::returns, bits_of(MPI_ERRORS_RETURN)};

std::string name_of(const comm::Communicator* comm) {
  if (comm == nullptr) return {};
  if (!comm->name.empty()) return " on " + comm->name;
  return " on a communicator of " + std::to_string(comm->size()) + " ranks";
}

// After MPI_Finalize in vain: the launcher, which knows the rank to blame, ends the job meanwhile,
// or it goes on without that one, and so may the others (--enable-recovery).
// It may not know of a mismatch: who met that may bear it.
constexpr unsigned kTurnS = 1;

[[noreturn]] void end_job(const char* function, int code, const std::string& where,
                          const Trouble& why) {
  // A child of fork holds what its parent's streams hold, who writes it.
  if (process.phase.load(std::memory_order_relaxed) != ProcessPhase::forked)
    write_what_streams_hold();
  const std::string meaning = describe(code);
  std::string line = std::string(function) + where + ": ";
  line += why.text.empty() ? meaning : why.text + " (" + class_name(code) + ")";
  if (const std::string loss = loss_behind(code, why);
      !loss.empty() && line.find(loss) == std::string::npos)
    line += "; " + loss;
  // Who only follows another's failure is not to blame, and its line is rarely shown.
  if (process.tells_places && why.blame == wireup::Blame::own && !why.was_enqueued)
    if (const std::string place = place_of_caller(); !place.empty()) line += ", called in " + place;
  const int status = why.is_mismatch ? kMismatchStatus : code > 0 && code < 126 ? code : 1;
  if (process.world != nullptr) report_use();
  const bool is_turn_of_launcher =
      process.world == nullptr && why.blame == wireup::Blame::another && !why.is_mismatch;
  if (is_turn_of_launcher)
    ::sleep(kTurnS);
  else if (world::World* const world = any_world(); world != nullptr)
    world->abort(status, line + "; the job ends", why.blame);
  else
    abort_early(status, line + "; the job ends");
  log::warn(line);
  std::_Exit(status);
}

}  // namespace

std::string loss_behind(int code, const Trouble& why) {
  if (process.world == nullptr) return {};
  const p2p::Endpoint& endpoint = process.world->endpoint();
  const bool is_out_of_reach =
      code == MPI_ERR_OTHER && why.text.empty() && endpoint.loss_code() == Code::other;
  if (code != MPI_ERR_PROC_ABORTED && !is_out_of_reach) return {};
  return endpoint.loss_text();
}

Ref<Errhandler> Errhandler::user(ObjectKind serves, Function function) {
  auto* made = new Errhandler(Action::user, 0);
  made->serves = serves;
  made->function = function;
  return Ref<Errhandler>::adopt(made);
}

Errhandler* predefined_errhandler(Handle bits) {
  for (Errhandler* handler : {&g_fatal, &g_abort, &g_return})
    if (handler->handle() == bits) return handler;
  return nullptr;
}

Errhandler* errhandler_at(const Ref<Object>& attached) {
  return attached ? static_cast<Errhandler*>(attached.get()) : &g_fatal;
}

namespace {

Ref<Object>& attached_to_files() {
  static auto& place = *new Ref<Object>;
  return place;
}

}  // namespace

Errhandler* file_errhandler() {
  const Ref<Object>& attached = attached_to_files();
  return attached ? static_cast<Errhandler*>(attached.get()) : &g_return;
}
void set_file_errhandler(Errhandler& handler) {
  attach(attached_to_files(), &handler);
}

Trouble& trouble() {
  thread_local Trouble mine;
  return mine;
}

void add_reason(Trouble& trouble, const comm::Reason& reason) {
  if (!reason.text.empty()) trouble.text += (trouble.text.empty() ? "" : ": ") + reason.text;
  trouble.is_mismatch = trouble.is_mismatch || reason.is_mismatch;
  if (reason.failed_there) trouble.blame = wireup::Blame::another;
}

Code refuse(Code code, std::string text) {
  return refuse_on(nullptr, code, std::move(text));
}

Code refuse_on(comm::Communicator* where, Code code, std::string text) {
  trouble() = {.code = code, .text = std::move(text), .where = comm::CommRef::share(where)};
  return code;
}

namespace {

std::exception_ptr& users_exception() {
  thread_local std::exception_ptr latest;
  return latest;
}

}  // namespace

void note_users_exception() {
  users_exception() = std::current_exception();
}

Code thrown() {
  if (std::exchange(users_exception(), nullptr) == std::current_exception()) throw;
  constexpr const char* kNoMemory =
      "there is not enough memory for this call (see ulimit -v, and the host's memory)";
  const auto refuse_for_memory = [] {
    std::free(std::exchange(process.reserve, nullptr));
    return refuse(Code::no_mem, kNoMemory);
  };
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return refuse_for_memory();
  } catch (const std::length_error&) {
    return refuse_for_memory();
  } catch (const std::system_error& problem) {
    return refuse(Code::other, problem.what());
  }
}

namespace {

bool ends_job(const Errhandler& handler) {
  return handler.action == Errhandler::Action::fatal || handler.action == Errhandler::Action::abort;
}

}  // namespace

void set_errhandler(comm::Communicator& comm, Errhandler* handler) {
  attach(comm.errhandler, handler);
  comm.errors_end_job = ends_job(*errhandler_on(comm));
}

namespace {

// A user's function sees `handle`: of a communicator or a session, alike to it.
void tell_user(Errhandler& handler, Handle handle, int code) {
  if (code == MPI_ERR_NO_MEM) keep_reserve();  // the job goes on
  if (handler.action != Errhandler::Action::user) return;
  const auto keep = Ref<Errhandler>::share(&handler);  // it may free itself
  auto seen = reinterpret_cast<MPI_Comm>(handle);
  int raised = code;
  call_user(handler.function, &seen, &raised);
}

}  // namespace

int raise(const char* function, int code, comm::Communicator* comm, const Trouble& why) {
  const comm::Communicator* const said = comm;  // the fallback lends its handler, not its name
  if (comm == nullptr) comm = fallback_comm();
  Errhandler* const handler = comm == nullptr ? &g_fatal : errhandler_on(*comm);
  if (ends_job(*handler)) end_job(function, code, name_of(said), why);
  tell_user(*handler, comm->handle(), code);
  return code;
}

int raise_on(Session& session, const char* function, int code, const Trouble& why) {
  Errhandler* const handler = errhandler_at(session.errhandler);
  if (ends_job(*handler)) end_job(function, code, " on a session", why);
  tell_user(*handler, session.handle(), code);
  return code;
}

int raise_by(Errhandler& handler, const char* function, int code, const Trouble& why) {
  if (ends_job(handler)) end_job(function, code, {}, why);
  // There is no object that it could be told of.
  const comm::Communicator* const any = fallback_comm();
  const Handle seen = handler.serves == ObjectKind::session ? bits_of(MPI_SESSION_NULL)
                      : handler.serves == ObjectKind::file  ? bits_of(MPI_FILE_NULL)
                      : any == nullptr                      ? bits_of(MPI_COMM_NULL)
                                                            : any->handle();
  tell_user(handler, seen, code);
  return code;
}

namespace {

// This thread's trouble, with all that is known about it.
Trouble take_trouble(Code code) {
  Trouble mine = std::exchange(trouble(), {});
  if (mine.code != code) mine = {.code = code};
  if (process.world != nullptr) add_reason(mine, process.world->take_reason());
  if (code == Code::proc_aborted) mine.blame = wireup::Blame::another;
  return mine;
}

}  // namespace

int CallScope::fail_by(Code code, Errhandler* handler) const {
  const Trouble mine = take_trouble(code);
  return raise_by(*handler, kNames[number_], static_cast<int>(code), mine);
}

int CallScope::refuse_by(Errhandler* handler) const {
  const Code code = trouble().code;
  return handler != nullptr ? fail_by(code, handler) : fail(code, nullptr);
}

int CallScope::fail(Code code, comm::Communicator* comm) const {
  const Trouble mine = take_trouble(code);
  return raise(kNames[number_], static_cast<int>(code), mine.where ? mine.where.get() : comm, mine);
}

int CallScope::refuse(comm::Communicator* comm) const {
  if (!allowed_) return raise(kNames[number_], MPI_ERR_OTHER, nullptr, {.text = why_not_running()});
  // A communicator that failed its check cannot be asked for its handler.
  const Code code = trouble().code;
  return fail(code, code == Code::comm ? nullptr : comm);
}

int CallScope::fail_session(Code code, Session* session) const {
  if (session == nullptr) return fail(code, nullptr);
  Trouble mine = std::exchange(trouble(), {});
  if (mine.code != code) mine = {.code = code};
  return raise_on(*session, kNames[number_], static_cast<int>(code), mine);
}

int CallScope::refuse_session(Session* session) const {
  const Code code = trouble().code;
  return fail_session(code, code == static_cast<Code>(MPI_ERR_SESSION) ? nullptr : session);
}

namespace {

constexpr const char* kNotYet = "this version of Tutti does not have it yet";

}  // namespace

int CallScope::unsupported(comm::Communicator* comm) const {
  if (!allowed_) return refuse(nullptr);
  return raise(kNames[number_], MPI_ERR_UNSUPPORTED_OPERATION, comm, {.text = kNotYet});
}

// Who looks at no code and set no handler would look for a file in vain: a line, once.
int CallScope::unsupported_on_files() const {
  static std::atomic<bool> is_told{false};
  if (!allowed_) return refuse(nullptr);
  // relaxed: it guards a line to a person, no more.
  if (!attached_to_files() && !is_told.exchange(true, std::memory_order_relaxed))
    log::warn(std::string(kNames[number_]) + ": " + kNotYet +
              "; it returns MPI_ERR_UNSUPPORTED_OPERATION");
  return raise_by(*file_errhandler(), kNames[number_], MPI_ERR_UNSUPPORTED_OPERATION,
                  {.text = kNotYet});
}

}  // namespace tutti::mpi
