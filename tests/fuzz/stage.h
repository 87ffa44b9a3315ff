// A transport for fuzzing an endpoint: it takes what is posted, mostly, and reads memory or does
// not, by chance; what is posted is noted, and nothing ever arrives by itself.
#pragma once

#include <cstring>
#include <memory>
#include <vector>

#include "mutate.h"
#include "transport/transport.h"

namespace fuzz {

using namespace tutti;  // NOLINT(google-build-using-namespace): a test

struct Posted {  // by the endpoint
  int to;
  transport::FrameHeader header;
};

// Takes what the endpoint sends, mostly, and reads memory or does not, by chance.
class Stage final : public transport::Transport {
 public:
  Stage(fuzz::Random& random, std::vector<Posted>& posted) : random_(random), posted_(posted) {}
  const char* name() const override { return "stage"; }
  transport::Traits traits(const transport::Peer& peer) const override {
    transport::Traits traits;
    traits.reaches = true;
    traits.max_frame = 1024;
    traits.eager_bytes = 512;
    traits.gets = true;
    traits.get_from = 3000;
    traits.gets_are_judged = peer.rank % 2 == 0;
    return traits;
  }
  Blob address() const override { return {}; }
  Result<std::unique_ptr<transport::Link>> connect(const transport::Peer& peer, BlobView) override {
    return std::unique_ptr<transport::Link>(std::make_unique<Line>(*this, peer.rank));
  }
  Result<std::unique_ptr<transport::Region>> expose(const Memory&) override {
    if (random_.below(4) == 0) return fail(Code::other, "not this memory");
    return std::make_unique<Key>(random_.below(random_.below(2) == 0 ? 65 : 3000));
  }
  int progress() override {
    std::vector<Done*> ready;
    ready.swap(late_);
    for (Done* done : ready) done->fire(done, random_.below(4) != 0);
    return static_cast<int>(ready.size());
  }
  int wait_fd() override { return -1; }

 private:
  class Key final : public transport::Region {
   public:
    explicit Key(std::size_t bytes) : bytes_(bytes) {}
    BlobView key() const override { return bytes_; }

   private:
    Blob bytes_;
  };
  class Line final : public transport::Link {
   public:
    Line(Stage& stage, int to) : stage_(stage), to_(to) {}
    bool try_post(const transport::FrameView& frame) override {
      if (stage_.random_.below(8) == 0) return false;
      stage_.posted_.push_back({to_, *frame.header});
      if (frame.done != nullptr) stage_.finish(frame.done);
      return true;
    }
    Result<std::unique_ptr<transport::Remote>> import(BlobView) override {
      if (stage_.random_.below(4) == 0) return fail(Code::other, "a key that nobody made");
      return std::make_unique<transport::Remote>();
    }
    Result<void> get(transport::Remote&, std::uint64_t, const types::Buffer& into,
                     Done* done) override {
      if (stage_.random_.below(3) == 0) return fail(Code::other, "not today");
      std::memset(into.at(), 1, static_cast<std::size_t>(into.bytes));
      stage_.finish(done);
      return {};
    }

   private:
    Stage& stage_;
    int to_;
  };
  void finish(Done* done) {
    if (random_.below(2) == 0)
      done->fire(done, true);
    else
      late_.push_back(done);
  }

  fuzz::Random& random_;
  std::vector<Posted>& posted_;
  std::vector<Done*> late_;
};

}  // namespace fuzz
