// From transport's words to a vendor's. Nothing is asked of a peer beforehand: a sender exports
// where its driver lets it, and a receiver that cannot import has the message sent by frames.
#include "transport/cuda_ipc/cuda_ipc.h"

#include <cstring>

#include "types/types.h"
#include "wireup/wireup.h"

namespace tutti::transport::ipc {
namespace {

// Descriptors go through the door for shared files.
class Files final : public types::Courier {
 public:
  explicit Files(wireup::Wireup& wireup) : wireup_(wireup) {}
  Result<types::Exported> give(int fd) override {
    TUTTI_TRY(shared, wireup_.share_device(fd));
    types::Exported exported;
    const auto* const bytes = reinterpret_cast<const std::byte*>(&shared.key());
    exported.key.assign(bytes, bytes + sizeof(wireup::ShareKey));
    exported.hold = std::make_shared<wireup::Shared>(std::move(shared));
    return exported;
  }
  Result<UniqueFd> take(BlobView key) override {
    wireup::ShareKey words;
    if (key.size() != sizeof words)
      return fail(Code::intern, "a descriptor's key of " + std::to_string(key.size()) + " bytes");
    std::memcpy(&words, key.data(), sizeof words);
    return wireup_.take_device(words);
  }

 private:
  wireup::Wireup& wireup_;
};

class GpuRegion final : public Region {
 public:
  explicit GpuRegion(types::Exported memory) : memory_(std::move(memory)) {}
  BlobView key() const override { return memory_.key; }

 private:
  const types::Exported memory_;
};

struct GpuRemote final : Remote {
  explicit GpuRemote(std::unique_ptr<types::Imported> imported) : memory(std::move(imported)) {}
  std::unique_ptr<types::Imported> memory;
};

class IpcLink final : public Link {
 public:
  IpcLink(types::Vendor& vendor, Files& files, int peer)
      : vendor_(vendor), files_(files), peer_(peer) {}
  bool try_post(const FrameView&) override { return false; }  // max_frame is 0: nobody asks
  Result<std::unique_ptr<Remote>> import(BlobView key) override {
    TUTTI_TRY(memory, vendor_.import(peer_, key, files_));
    return std::unique_ptr<Remote>(std::make_unique<GpuRemote>(std::move(memory)));
  }
  Result<void> get(Remote& from, std::uint64_t offset, const types::Buffer& into,
                   Done* done) override {
    return static_cast<GpuRemote&>(from).memory->read(offset, into, done);
  }

 private:
  types::Vendor& vendor_;
  Files& files_;
  const int peer_;
};

class IpcTransport final : public Transport {
 public:
  IpcTransport(const Surroundings& around, types::Vendor& vendor, const char* name)
      : vendor_(vendor),
        files_(*around.wireup),
        name_(name),
        gets_are_judged_(around.knobs->text("TUTTI_SINGLE_COPY") != "on") {}
  const char* name() const override { return name_; }
  Traits traits(const Peer& peer) const override {
    Traits traits;
    traits.reaches = peer.same_host;
    traits.why = peer.same_host ? vendor_.reach_text(peer.rank) : "another host";
    traits.kind = "shm";
    traits.kinds = kinds_of(vendor_.kind());
    traits.gets = traits.reaches;
    traits.gets_are_judged = gets_are_judged_;
    return traits;
  }
  Blob address() const override { return {}; }
  Result<std::unique_ptr<Link>> connect(const Peer& peer, BlobView) override {
    return std::unique_ptr<Link>(std::make_unique<IpcLink>(vendor_, files_, peer.rank));
  }
  Result<std::unique_ptr<Region>> expose(const Memory& memory) override {
    TUTTI_TRY(exported, vendor_.share(memory, files_));
    return std::unique_ptr<Region>(std::make_unique<GpuRegion>(std::move(exported)));
  }
  int progress() override { return 0; }  // the device's, which p2p drives
  int wait_fd() override { return -1; }
  void drop(int) override {}

 private:
  types::Vendor& vendor_;
  Files files_;
  const char* const name_;
  const bool gets_are_judged_;
};

Result<std::unique_ptr<Transport>> open(const Surroundings& around, MemoryKind kind,
                                        const char* name) {
  if (around.wireup->local_size() < 2) return fail(Code::other, "this rank is alone on its host");
  if (around.devices != nullptr)
    for (types::Vendor* const vendor : around.devices->vendors())
      if (vendor->kind() == kind)
        return std::unique_ptr<Transport>(std::make_unique<IpcTransport>(around, *vendor, name));
  return fail(Code::other, "this process can have no GPU");
}

}  // namespace

Result<std::unique_ptr<Transport>> open_cuda(const Surroundings& around) {
  return open(around, MemoryKind::cuda, "cuda_ipc");
}

}  // namespace tutti::transport::ipc
