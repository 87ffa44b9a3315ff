// The world: constructs and connects the rooms.
#include "world/world.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "delegate/gpu_library.h"
#include "device/device.h"
#include "select/select.h"
#include "topo/topo.h"
#include "watch/watch.h"
#include "world/gate.h"
#include "world/helper.h"

namespace tutti::world {
namespace {

// That the job may use on this machine; none: not known.
std::vector<int> processors_of(const wireup::Segment& segment) {
  std::vector<int> all;
  if (const auto machine = topo::from_text(std::string(segment.topology())))
    for (const topo::Thread& thread : machine->threads) all.push_back(thread.os_index);
  return all;
}

// The first one that is marked, else what was lost.
std::string first_gone(const wireup::Wireup& wireup, const p2p::Endpoint& endpoint) {
  for (int rank = 0; rank < wireup.size(); ++rank)
    if (wireup.is_gone(rank)) return ": " + wireup.end_of(rank);
  return endpoint.loss_text().empty() ? "; see the lines above" : ": " + endpoint.loss_text();
}

}  // namespace

World::World(std::unique_ptr<wireup::Wireup> wireup, const Knobs& knobs, ThreadLevel level)
    : wireup_(std::move(wireup)),
      knobs_(knobs),
      level_(level),
      helps_every_us_(std::max<std::int64_t>(0, knobs_.integer("TUTTI_PROGRESS_US"))),
      helps_by_itself_(knobs_.integer("TUTTI_PROGRESS_US") < 0 &&
                       Helper::has_core(wireup_->segment().header())) {
  if (level == ThreadLevel::multiple || helps_every_us_ > 0) gate_.emplace();
}

void World::open_gate() {
  if (gate_) return;
  gate_.emplace();
  endpoint_->set_gate(&*gate_);
  enter();
}

// Whoever is inside of a call does so much itself. What is under way by then calls no function of
// the user's, whose thread this is not; a blocking call that does so is one that somebody is
// inside.
bool World::call_helper() {
  if (helper_ == nullptr) {
    const auto has_work = [](const void* self) {
      return comm::has_long_calls(*static_cast<const World*>(self)->comms_);
    };
    const auto may_enter = [](const void* self) {
      const auto* const world = static_cast<const World*>(self);
      const wireup::Segment& segment = world->wireup_->segment();
      const auto local = static_cast<std::uint32_t>(world->wireup_->local_rank());
      // relaxed: written inside the gate.
      return segment.local(local).watch.function.load(std::memory_order_relaxed) == 0 &&
             comm::may_be_helped(*world->comms_);
    };
    open_gate();
    auto helper = Helper::start(*gate_, *endpoint_,
                                {has_work, may_enter, this, processors_of(wireup_->segment())});
    helps_by_itself_ = helper.has_value();
    if (!helper) return false;
    helper_ = std::move(*helper);
    comm::set_helped(*comms_);
  }
  helper_->call();
  return true;
}

void World::leave_binding() const {
  const wireup::Segment& segment = wireup_->segment();
  if (!Helper::has_core(segment.header())) return;
  const std::vector<int> all = processors_of(segment);
  if (!all.empty()) topo::bind_self(all);  // else it stays where it is
}

void World::pause() {
  constexpr useconds_t kMoment_us = 20;
  const int depth = gate_->release();
  ::usleep(kMoment_us);
  gate_->retake(depth);
}

void World::abort(int status, std::string_view reason, wireup::Blame blame) {
  // The kernel keeps eight bits, and a shell or a launcher takes 0 for success.
  const int failure = (status & 0xff) == 0 ? 1 : status;
  wireup_->abort(failure, reason, blame);
  std::_Exit(failure);
}

Result<void> World::connect() {
  gpus_ = device::find_gpus(knobs_);
  TUTTI_TRY(endpoint, p2p::Endpoint::open(*wireup_, knobs_, gpus_.get()));
  endpoint_ = std::move(endpoint);
  if (gate_) endpoint_->set_gate(&*gate_);
  if (gpus_) gpus_->show_use_in(watch().gpus);
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

Result<void> World::make_world_comm() {
  enter();
  auto world_comm = comm::make_world_comm(*comms_);
  leave();
  if (!world_comm) return tl::unexpected<Error>(std::move(world_comm).error());
  world_comm_ = std::move(*world_comm);
  if (knobs_.flag("TUTTI_REPORT_LINKS")) wireup_->report_links(endpoint_->links_text());
  return {};
}

// The last barrier is one of all: a rank that was lost never comes, and who waits for this one in
// another call, having heard nothing of the loss, is waited for in vain. So it ends with any loss.
Code World::meet_at_the_end() {
  const auto give_up = [](p2p::Pending* told) {
    const comm::CommRef& comm = static_cast<World*>(told->owner)->world_comm_;
    if (comm) comm::cancel_collectives(*comm, Code::proc_aborted);
  };
  endpoint_->when_lost(give_up, this);
  const Code code = comm::run_last_barrier(*world_comm_);
  endpoint_->when_lost(nullptr, nullptr);
  return code;
}

// Behind the barrier nobody sends to us any more, and all that was sent to us by then is matched
// or abandoned, unless sessions go on.
Result<void> World::finish(bool is_last, comm::Reason& why) {
  enter();
  const Code code = meet_at_the_end();
  if (is_last) endpoint_->see_off(p2p::Endpoint::End::everybodys);
  if (gpus_ && knobs_.flag("TUTTI_REPORT_LINKS"))
    if (const std::string text = endpoint_->gpu_links_text(); !text.empty())
      wireup_->remark("links between GPUs\n" + text);
  world_comm_.reset();
  end_ = code == Code::ok ? End::orderly : End::failed;
  const std::string missing = code == Code::ok ? "" : first_gone(*wireup_, *endpoint_);
  leave();
  if (code == Code::ok) return say_finalized();
  if (code == Code::proc_aborted) wireup_->lost_peer();
  why = take_reason();
  if (why.is_mismatch) return fail(code, {});
  return fail(code, "not every rank came to the end of the job" + missing);
}

void World::settle() {
  enter();
  endpoint_->see_off(p2p::Endpoint::End::ours);
  if (end_ == End::early) end_ = End::orderly;
  leave();
}

void World::resume() {
  if (end_ != End::told || !wireup_->resumed()) return;
  has_resumed_ = true;
  end_ = End::early;
}

void World::rest() {
  if (!has_resumed_ || end_ != End::orderly) return;
  if (const auto said = say_finalized(); !said) log::warn(said.error().text);
}

Result<void> World::say_finalized() {
  if (std::exchange(end_, End::told) == End::told) return {};
  return wireup_->finalized();
}

World::~World() {
  helper_.reset();
  if (end_ == End::early || end_ == End::failed) return;
  enter();
  endpoint_->close();
  leave();
  if (const auto said = say_finalized(); !said) log::warn(said.error().text);
}

namespace {

// A library that is forced, and that no call will ask for.
void warn_of_library(const Knobs& knobs) {
  const std::string knob = select::library_forced_by(knobs);
  if (knob.empty()) return;
  if (!delegate::has_gpu_library())
    log::warn(knob + " forces nccl, but this Tutti was built without it (-Dnccl=enabled)");
  else if (!delegate::may_have_gpus(knobs))
    log::warn(knob +
              " forces nccl, which serves no call of this job: TUTTI_GPU_SUPPORT is no, or "
              "this host has no device file of a GPU's driver (then yes says that there is "
              "one all the same)");
}

}  // namespace

Result<std::unique_ptr<World>> World::open(std::unique_ptr<wireup::Wireup> wireup,
                                           const Knobs& knobs, ThreadLevel level,
                                           std::uint32_t called) {
  log::set_explain(knobs.flag("TUTTI_EXPLAIN"));
  log::set_rank(wireup->rank());
  std::unique_ptr<World> world(new World(std::move(wireup), knobs, level));
  const watch::Scope inside(world->watch(), called);  // a driver may take long, or for ever
  TUTTI_DO(select::check_forced(knobs));
  if (world->wireup_->local_rank() == 0) warn_of_library(knobs);
  TUTTI_DO(world->connect());
  return world;
}

}  // namespace tutti::world
