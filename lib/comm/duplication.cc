// Nonblocking duplication: all have come, an agreement, a word of rank 0; one collective after
// another, each begun by the end of the one before.
//
// Owner: itself, until its request is done. The new communicator exists from the start and gets
// its number in between; nobody may use it before.
#include <optional>
#include <utility>

#include "comm/agree.h"
#include "comm/scheduled.h"

namespace tutti::comm {
namespace {

using Verdict = ContextIds::Agreement::Verdict;

class Duplication {
 public:
  Duplication(Communicator& comm, Communicator& made, Request* request)
      : comm_(CommRef::share(&comm)),
        made_(CommRef::share(&made)),
        request_(request),
        tag_(comm.state().next_tag(Communicator::State::Kind::nonblocking)) {}

  void begin() {
    if (members().size() == 1) {
      const Result<Number> number = runtime().contexts.take_alone();
      return number ? name(*number) : fail_by(number.error());
    }
    go(meeting().plan_allreduce_max(values_), &Duplication::came);
  }

 private:
  Runtime& runtime() const { return comm_->runtime(); }
  std::span<const int> members() const {
    return comm_->is_inter() ? std::span<const int>(comm_->state().joint)
                             : std::span<const int>(comm_->group().members());
  }

  Meeting meeting() const { return {runtime(), members(), {comm_->coll_context(), tag_}}; }

  void go(Meeting::Planned planned, void (*then)(engine::Run*)) {
    run_ = std::move(planned);
    run_->owner = this;
    run_->on_done = then;
    run_->begin();
  }
  static void came(engine::Run* run) { static_cast<Duplication*>(run->owner)->agree(); }
  static void judged(engine::Run* run) { static_cast<Duplication*>(run->owner)->judge(); }
  static void told(engine::Run* run) { static_cast<Duplication*>(run->owner)->settle(); }

  // Not before all members have come: some of them may first want other communicators, whose
  // agreements would have to wait for this one.
  void agree() {
    if (run_->code() != Code::ok) return fail_by_run();
    agreement_.emplace(runtime().contexts, ContextIds::Claim{comm_->coll_context(), tag_});
    agreement_->propose(values_);
    run_->on_done = &Duplication::judged;
    run_->begin();
  }

  void judge() {
    if (run_->code() != Code::ok) return fail_by_run();
    const Verdict verdict = agreement_->judge(values_);
    if (verdict == Verdict::none) return fail_by(none_left());
    if (verdict != Verdict::agreed) {
      agreement_->propose(values_);
      return run_->begin();
    }
    name(agreement_->number());
  }

  void name(Number number) {
    agreement_.reset();
    CommMaker::set_number(*made_, number);
    if (made_->is_inter()) return end(Code::ok);
    settled_ = propose_settled(*made_);
    if (members().size() == 1) return end(Code::ok);
    go(meeting().plan_bcast(told_bytes(settled_)), &Duplication::told);
  }

  void settle() {
    if (run_->code() != Code::ok) return fail_by_run();
    adopt_settled(*made_, settled_);
    end(Code::ok);
  }

  void fail_by(const Error& error) { end(error.code, {error.text}); }
  void fail_by_run() { end(run_->code(), reason_of(*run_)); }

  void end(Code code, Reason why = {}) {
    Request* const request = request_;
    delete this;
    p2p::Status status;
    status.code = code;
    code == Code::ok ? complete(*request, status) : fail(*request, status, std::move(why));
  }

  CommRef comm_, made_;
  Request* request_;
  int tag_;
  std::optional<ContextIds::Agreement> agreement_;
  ContextIds::Values values_{};
  Settled settled_;
  std::unique_ptr<engine::Run> run_;
};

}  // namespace

Result<Request*> start_dup(Communicator& comm, CommRef* made) {
  Runtime& runtime = comm.runtime();
  if (comm.is_inter())
    *made = CommMaker::make_inter(runtime, {comm.group_ref(), comm.remote_ref(), comm.is_first()},
                                  {kNoContext, 0});
  else
    *made = CommMaker::make(runtime, comm.group_ref(), {kNoContext, 0});
  (*made)->topology = comm.topology;
  force(**made, comm.forced());
  Request* const request = open_request(comm, nullptr);
  (new Duplication(comm, **made, request))->begin();
  return request;
}

}  // namespace tutti::comm
