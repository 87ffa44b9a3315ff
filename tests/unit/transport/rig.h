// A rig: the ranks of a small job as objects of one test, driven by one thread.
#pragma once

#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "catch.h"
#include "knobs.h"
#include "transport/transport.h"
#include "wireup/wireup.h"

namespace tutti::test {

using namespace transport;

struct Received {
  int from;
  FrameHeader header;
  std::vector<std::byte> payload;
  bool placed;
};

struct Kept {
  std::span<const std::byte> payload;
  std::uint64_t number;  // of the frame
  Loan loan;
};

// Keeps what arrives; gives memory for long frames, or keeps loans of them, when asked to.
class Recorder final : public Sink {
 public:
  bool places = false, borrows = false;
  std::vector<Kept> kept;
  std::vector<Received> frames;
  std::vector<int> gone;
  std::vector<std::string> reasons;
  std::function<void(const Received&)> also;
  std::size_t believes = std::numeric_limits<std::size_t>::max();  // so many frames, then no more
  std::size_t lacks = 0;  // attempts at each frame for which it finds no memory

  bool on_frame(int from, const FrameHeader& header, std::span<std::byte> payload) override {
    if (frames.size() == believes) return false;
    if (attempts_++ % (lacks + 1) < lacks) throw std::bad_alloc();
    const bool placed = !payload.empty() && payload.data() == placed_.data();
    frames.push_back({from, header, {payload.begin(), payload.end()}, placed});
    if (also) also(frames.back());
    return true;
  }
  bool wants_loan(int, const FrameHeader&, std::size_t) override { return borrows; }
  bool on_lent(int from, const FrameHeader& header, std::span<std::byte> payload,
               Loan loan) override {
    kept.push_back({payload, header.length, std::move(loan)});
    try {
      return on_frame(from, header, payload);
    } catch (...) {
      kept.pop_back();
      throw;
    }
  }
  std::byte* place(int, const FrameHeader&, std::size_t bytes) override {
    if (!places) return nullptr;
    placed_.assign(bytes, std::byte{0});
    return placed_.data();
  }
  void on_peer_gone(int peer, const Error& why) override {
    gone.push_back(peer);
    reasons.push_back(why.text);
  }

 private:
  std::vector<std::byte> placed_;
  std::size_t attempts_ = 0;
};

struct CountedDone : Done {
  int fired = 0;
  bool ok = false;
  CountedDone() {
    fire = [](Done* self, bool good) {
      ++static_cast<CountedDone*>(self)->fired;
      static_cast<CountedDone*>(self)->ok = good;
    };
  }
};

// One rank with all the transports it could open.
struct End {
  std::unique_ptr<wireup::Wireup> wireup;
  Knobs knobs;
  Recorder sink;
  Opened opened;
  std::map<int, std::unique_ptr<Link>> links;

  Surroundings around() { return {wireup.get(), &sink, &knobs}; }
  Transport* transport(const std::string& name) {
    for (auto& each : opened.transports)
      if (each->name() == name.substr(0, name.find(' '))) return each.get();
    return nullptr;
  }
  int progress() {
    int events = 0;
    for (auto& each : opened.transports) events += each->progress();
    return events;
  }
  ~End() {
    links.clear();
    sink.kept.clear();
  }
};

class Rig {
 public:
  Rig(const std::vector<int>& hosts, const Knobs& knobs) : Rig(knobs, wireup::in_threads(hosts)) {}
  Rig(const Knobs& knobs, std::vector<std::unique_ptr<wireup::Wireup>> worlds) {
    for (auto& wireup : worlds) {
      ends_.push_back(std::make_unique<End>());
      End& end = *ends_.back();
      end.wireup = std::move(wireup);
      end.knobs = knobs;
      end.opened = open_all(end.around());
    }
  }
  // A job whose ranks are on one host for shm, on hosts of their own for the others. "tcp
  // encrypted" is tcp with that security.
  static Rig over(const std::string& link, int ranks) {
    std::vector<int> hosts;
    for (int rank = 0; rank < ranks; ++rank)
      hosts.push_back(link == "shm" || link == "self" ? 0 : rank);
    if (link == "self") return Rig(hosts, Knobs::defaults());
    const std::size_t blank = link.find(' ');
    const std::string security = blank == std::string::npos ? "none" : link.substr(blank + 1);
    return Rig(hosts, knobs_with({{"TUTTI_LINK", link.substr(0, blank)},
                                  {"TUTTI_LINK_SECURITY", security}}));
  }

  End& operator[](int rank) { return *ends_[static_cast<std::size_t>(rank)]; }
  int size() const { return static_cast<int>(ends_.size()); }

  Peer peer(int from, int to) {
    const wireup::Wireup& other = *(*this)[to].wireup;
    return {to, other.host(), other.local_rank(), (*this)[from].wireup->host() == other.host()};
  }

  Link& link(const std::string& name, int from, int to) {
    const auto made = connect(name, from, to);
    INFO((made ? std::string() : made.error().text));
    REQUIRE(made.has_value());
    return **made;
  }
  // The same without an assertion: for threads of `from`.
  Result<Link*> connect(const std::string& name, int from, int to) {
    auto& slot = (*this)[from].links[to];
    if (!slot) {
      Transport* transport = (*this)[from].transport(name);
      if (transport == nullptr) return fail(Code::other, "no transport " + name);
      const Blob address = (*this)[to].transport(name)->address();
      TUTTI_TRY(made, transport->connect(peer(from, to), address));
      slot = std::move(made);
    }
    return slot.get();
  }

  void progress() {
    for (auto& end : ends_)
      if (end) end->progress();
  }

  // Progresses everybody until it holds; fails the test after a generous limit.
  void until(const std::function<bool()>& holds) {
    const std::int64_t limit = now_ns() + 60'000'000'000;
    while (!holds()) {
      progress();
      REQUIRE(now_ns() < limit);
    }
  }

  void drop(int rank) { take(rank).reset(); }
  // The rank's end, to be closed by the caller.
  std::unique_ptr<End> take(int rank) { return std::move(ends_[static_cast<std::size_t>(rank)]); }

 private:
  std::vector<std::unique_ptr<End>> ends_;
};

inline std::vector<std::byte> pattern(std::size_t bytes, std::size_t seed) {
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    data[i] = static_cast<std::byte>((i * 31 + seed * 17 + (i >> 8)) & 0xff);
  return data;
}

inline FrameHeader header_for(std::uint64_t number) {
  FrameHeader header;
  header.context = 7;
  header.tag = static_cast<std::int32_t>(number);
  header.length = number;
  header.cookie = ~number;
  return header;
}

// Posts one frame, progressing everybody until the link takes it.
inline void post(Rig& rig, Link& link, std::uint64_t number, const std::vector<std::byte>& data,
                 Done* done = nullptr) {
  const FrameHeader header = header_for(number);
  const FrameView frame{&header, data.data(), data.size(), done};
  rig.until([&] { return link.try_post(frame); });
}

}  // namespace tutti::test
