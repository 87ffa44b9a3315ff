// The world: constructs and connects the rooms.
#include "world/world.h"

#include <cstdlib>
#include <optional>
#include <utility>

#include "base/log.h"
#include "select/select.h"
#include "watch/watch.h"
#include "world/gate.h"
#include "world/helper.h"

namespace tutti::world {
namespace {

class Assembled final : public World {
 public:
  Assembled(std::unique_ptr<wireup::Wireup> wireup, const Knobs& knobs, ThreadLevel level)
      : wireup_(std::move(wireup)),
        knobs_(knobs),
        level_(level),
        helps_every_us_(knobs_.integer("TUTTI_PROGRESS_US")) {
    if (level == ThreadLevel::multiple || helps_every_us_ > 0) gate_.emplace();
  }

  ~Assembled() override;

  Result<void> connect();
  Result<void> make_world_comm() override;

  void enter() override {
    if (gate_) gate_->enter();
  }
  void leave() override {
    if (gate_) gate_->leave();
  }
  bool step_out() override { return gate_ && gate_->step_out(); }
  void step_in() override { gate_->step_in(); }
  bool is_gated() const override { return gate_.has_value(); }
  ThreadLevel level() const override { return level_; }
  comm::Communicator& world_comm() override { return *world_comm_; }
  comm::Communicator& self_comm() override { return *self_comm_; }
  p2p::Endpoint& endpoint() override { return *endpoint_; }
  comm::Reason take_reason() override { return comm::take_reason(*comms_); }
  wireup::Wireup& wireup() override { return *wireup_; }
  const Knobs& knobs() override { return knobs_; }
  wireup::WatchRecord& watch() override {
    return wireup_->segment().local(static_cast<std::uint32_t>(wireup_->local_rank())).watch;
  }

  void abort(int status, std::string_view reason, wireup::Blame blame) override {
    wireup_->abort(status, reason, blame);
    std::_Exit(status);
  }
  Result<void> finish(bool is_last) override;
  void settle() override;

 private:
  Result<void> say_finalized();

  // In order of construction; destroyed in reverse.
  std::unique_ptr<wireup::Wireup> wireup_;
  Knobs knobs_;
  ThreadLevel level_;
  std::int64_t helps_every_us_;  // 0: nobody helps
  std::optional<Gate> gate_;     // none: one thread calls, and nobody helps
  std::unique_ptr<p2p::Endpoint> endpoint_;
  comm::RuntimePtr comms_;
  comm::CommRef world_comm_, self_comm_;
  bool at_rest_ = false;  // parted or rested: an orderly end
  bool said_finalized_ = false;
  std::unique_ptr<Helper> helper_;
};

Result<void> Assembled::connect() {
  TUTTI_TRY(endpoint, p2p::Endpoint::open(*wireup_, knobs_));
  endpoint_ = std::move(endpoint);
  if (gate_) endpoint_->set_gate(&*gate_);
  comms_ = comm::open_runtime({endpoint_.get(), wireup_.get(), &knobs_});
  enter();
  auto self_comm = comm::make_self_comm(*comms_);
  leave();
  if (!self_comm) return tl::unexpected<Error>(std::move(self_comm).error());
  self_comm_ = std::move(*self_comm);
  if (helps_every_us_ <= 0) return {};
  TUTTI_TRY(helper, Helper::start(*gate_, *endpoint_, helps_every_us_));
  helper_ = std::move(helper);
  return {};
}

Result<void> Assembled::make_world_comm() {
  enter();
  auto world_comm = comm::make_world_comm(*comms_);
  leave();
  if (!world_comm) return tl::unexpected<Error>(std::move(world_comm).error());
  world_comm_ = std::move(*world_comm);
  if (knobs_.flag("TUTTI_REPORT_LINKS")) wireup_->report_links(endpoint_->links_text());
  return {};
}

// Behind the barrier nobody sends to us any more, and all that was sent to us by then is matched
// or abandoned, unless sessions go on.
Result<void> Assembled::finish(bool is_last) {
  enter();
  comm::CollCall barrier;
  barrier.collective = coll::Collective::barrier;
  barrier.is_last = true;
  const Code code = comm::run(*world_comm_, barrier);
  if (is_last) endpoint_->see_off(p2p::Endpoint::End::everybodys);
  world_comm_.reset();
  at_rest_ = true;
  leave();
  TUTTI_DO(say_finalized());
  if (code != Code::ok)
    return fail(code, "not every rank came to the end of the job; see the lines above");
  return {};
}

void Assembled::settle() {
  enter();
  endpoint_->see_off(p2p::Endpoint::End::ours);
  at_rest_ = true;
  leave();
}

Result<void> Assembled::say_finalized() {
  if (std::exchange(said_finalized_, true)) return {};
  return wireup_->finalized();
}

Assembled::~Assembled() {
  helper_.reset();
  if (!at_rest_) return;
  Assembled::enter();
  endpoint_->close();
  Assembled::leave();
  if (const auto said = say_finalized(); !said) log::warn(said.error().text);
}

}  // namespace

Result<std::unique_ptr<World>> World::open(std::unique_ptr<wireup::Wireup> wireup,
                                           const Knobs& knobs, ThreadLevel level) {
  log::set_explain(knobs.flag("TUTTI_EXPLAIN"));
  log::set_rank(wireup->rank());
  auto world = std::make_unique<Assembled>(std::move(wireup), knobs, level);
  TUTTI_DO(select::check_forced(knobs));
  TUTTI_DO(world->connect());
  return std::unique_ptr<World>(std::move(world));
}

}  // namespace tutti::world
