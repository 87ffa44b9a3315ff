#include "daemon/below.h"

#include "status/status.h"

namespace tutti::launch::daemon {

void Below::pass_down(const control::Frame& one) {
  if (one.host == control::kEveryHost) {
    for (auto& [host, channel] : children_) channel->send_raw(control::kEveryHost, one.body);
  } else if (const auto child = children_.find(one.host); child != children_.end()) {
    child->second->send_raw(one.host, one.body);
  }
}

void Below::grow(const control::MakeSpawner& make, const control::Grow& grow) {
  if (!make) {
    for (const control::HostPart& host : grow.hosts)
      failed(host.host, status::of(status::ExitStatus::internal), "this daemon starts no others");
    return;
  }
  control::SpawnReports reports;
  reports.ready = [this](int host, control::ChannelEnds ends) { add(host, std::move(ends)); };
  reports.failed = [this](int host, int status, const std::string& reason) {
    failed(host, status, reason);
  };
  reports.note = [this](const std::string& text) { around_.say(control::Note{text}); };
  spawner_ = make(loop_, grow, std::move(reports));
  spawner_->start(grow.hosts);
}

void Below::add(int host, control::ChannelEnds ends) {
  auto channel = std::make_unique<control::StartupChannel>(loop_, std::move(ends));
  channel->open(
      [this](control::Frame&& one) {
        around_.up.send_raw(one.host, one.body);
        around_.passed();
      },
      [this, host](const std::string& why) {
        const std::string words = spawner_ ? spawner_->last_words(host) : "";
        if (!leaving_)
          failed(host, status::of(status::ExitStatus::host_lost),
                 "the connection was " + why + (words.empty() ? "" : ": " + words));
        drop(host);
      });
  channel->keep_alive(kBeat, kSilence);
  children_[host] = std::move(channel);
  // The host is there: its own messages say the rest, and the head sends it Prepare.
  around_.up.send(host, control::Heartbeat{});
}

void Below::hold(bool on) {
  for (auto& [host, channel] : children_) channel->hold(on);
}

void Below::drop(int host) {
  children_.erase(host);
  around_.changed();
}

void Below::failed(int host, int status, const std::string& reason) {
  around_.say(control::HostFailed{host, status, reason});
}

}  // namespace tutti::launch::daemon
