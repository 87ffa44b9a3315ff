// Reading what neighbours have exported, and what of it stays open.
#include "device/cuda/ipc.h"

#include <algorithm>
#include <cstring>

#include "base/log.h"
#include "device/cuda/current.h"
#include "device/cuda/rest.h"

namespace tutti::device::cuda {
namespace {

// A read of what may not stay open: the owner is told that it ended once it is closed.
class ClosingRead final : public WatchedDone {
 public:
  ClosingRead(OpenedMemory& from, Done* next) : from_(from), next_(next) {
    from.begin_read();
    fire = [](Done* self, bool ok) {
      auto& read = *static_cast<ClosingRead*>(self);
      read.note_fired();
      if (const auto closed = read.from_.end_read(); !closed)
        log::warn("GPU " + std::to_string(read.from_.reader().number()) + log::in_call() + ": " +
                  closed.error().text);
      read.next_->fire(read.next_, ok);
    };
  }

 private:
  OpenedMemory& from_;
  Done* const next_;
};

class ImportedPart final : public types::Imported {
 public:
  ImportedPart(Imports& imports, int from, const IpcKey& key, types::Courier& courier)
      : imports_(imports), from_(from), key_(key), courier_(courier) {}
  Result<void> read(std::uint64_t offset, const types::Buffer& into, Done* done) override {
    const auto bytes = static_cast<std::uint64_t>(into.bytes);
    if (offset > key_.bytes || bytes > key_.bytes - offset)
      return fail(Code::intern, "reading " + std::to_string(bytes) + " bytes at " +
                                    std::to_string(offset) + " of " + std::to_string(key_.bytes) +
                                    " that were exported");
    TUTTI_TRY(opened, imports_.open(from_, key_, into.device, courier_));
    types::Buffer from =
        types::Buffer::plain(opened.second->address() + key_.offset + offset, into.bytes);
    from.device = opened.first;
    opened_.push_back(std::move(opened.second));
    OpenedMemory& memory = *opened_.back();
    if (memory.is_kept()) {
      types::begin_copy(from, into, done);
      return {};
    }
    closing_.emplace_back() = std::make_unique<ClosingRead>(memory, done);
    ClosingRead* const closing = closing_.back().get();
    if (!closing->begins([&] { types::begin_copy(from, into, closing); }))
      closing->fire(closing, false);
    return {};
  }

 private:
  Imports& imports_;
  const int from_;
  const IpcKey key_;
  types::Courier& courier_;
  std::vector<std::shared_ptr<OpenedMemory>> opened_;
  std::vector<std::unique_ptr<ClosingRead>> closing_;
};

}  // namespace

tl::unexpected<Error> refused(const Driver& driver, const char* call, CUresult said) {
  const bool is_for_good = said == CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  const std::string why = is_for_good ? "no peer access, " : "";
  const Code code = is_for_good                        ? Code::access
                    : said == CUDA_ERROR_OUT_OF_MEMORY ? Code::no_mem
                                                       : Code::unsupported;
  return fail(code, why + call + ": " + driver.text_of(said));
}

std::array<std::uint8_t, 16> uuid_of(const Driver& driver, CUdevice device) {
  CUuuid uuid{};
  driver.cuDeviceGetUuid(&uuid, device);
  std::array<std::uint8_t, 16> bytes;
  std::memcpy(bytes.data(), &uuid, bytes.size());
  return bytes;
}

Result<std::unique_ptr<types::Imported>> Imports::import(int from, BlobView bytes,
                                                         types::Courier& courier) {
  IpcKey key;
  if (bytes.size() < kIpcKeyHead || bytes.size() > sizeof key)
    return fail(Code::intern, "a key of " + std::to_string(bytes.size()) + " bytes");
  std::memcpy(&key, bytes.data(), bytes.size());
  const bool is_whole = key.kind == static_cast<std::uint8_t>(MemoryKind::cuda) &&
                        key.room_bytes == bytes.size() - kIpcKeyHead && key.id != 0 &&
                        key.allocated <= UINT64_MAX - key.place && key.offset <= key.allocated &&
                        key.bytes <= key.allocated - key.offset;
  if (!is_whole) return fail(Code::intern, "a key that contradicts itself");
  return std::unique_ptr<types::Imported>(
      std::make_unique<ImportedPart>(*this, from, key, courier));
}

// A copy into a GPU's memory is done by that GPU. One into host memory is done by the GPU that owns
// what is read, where this process has that GPU, else by any of its GPUs.
Result<Gpu*> Imports::reader_for(const IpcKey& key, const types::Device* into) const {
  Gpu* any = nullptr;
  for (const auto& gpu : gpus_) {
    if (into == gpu.get()) return gpu.get();
    if (into == nullptr && (any == nullptr || uuid_of(driver_, gpu->number()) == key.gpu))
      any = gpu.get();
  }
  if (any != nullptr) return any;
  return fail(Code::unsupported, into == nullptr ? "no GPU is used here" : "it is no GPU of ours");
}

Result<std::pair<Gpu*, std::shared_ptr<OpenedMemory>>> Imports::open(int from, const IpcKey& key,
                                                                     const types::Device* into,
                                                                     types::Courier& courier) {
  TUTTI_TRY(gpu, reader_for(key, into));
  std::erase_if(opened_, [](const auto& each) { return each->is_closed(); });
  const auto known = std::find_if(opened_.begin(), opened_.end(),
                                  [&](const auto& each) { return each->is(*gpu, from, key); });
  if (known != opened_.end()) {
    std::rotate(known, known + 1, opened_.end());
    return std::pair(gpu, opened_.back());
  }
  if (std::ranges::any_of(opened_,
                          [&](const auto& each) { return each->is_elsewhere(*gpu, from, key); }))
    return fail(Code::unsupported, "another GPU here reads that memory of a pool");
  if (const std::string* const why = known_refusal(*gpu, from, key); why != nullptr) {
    reached_[from] = {"staged: " + *why, {}};
    return fail(Code::unsupported, *why);
  }
  std::erase_if(opened_, [&](const auto& each) { return each->is_replaced_by(from, key); });
  for (auto each = opened_.begin(); opened_.size() >= kMostOpened && each != opened_.end();)
    each = each->use_count() == 1 ? opened_.erase(each) : each + 1;
  close_retired();
  auto opened = make(*gpu, from, key);
  if (const auto done = opened->open(courier); !done) {
    note_refusal(*gpu, from, key, done.error());
    return tl::unexpected<Error>(done.error());
  }
  tried_of(*gpu, from, key).has_worked = true;
  reached_[from] = {"", {uuid_of(driver_, gpu->number()), key.gpu}};
  opened_.push_back(std::move(opened));
  return std::pair(gpu, opened_.back());
}

const std::string* Imports::known_refusal(const Gpu& gpu, int from, const IpcKey& key) {
  const auto found = refused_.find({from, &gpu, key.gpu});
  if (found != refused_.end()) return &found->second;
  const auto tried = tried_.find({from, key.way, &gpu, key.gpu});
  const bool is_over = tried != tried_.end() && tried->second.refusals >= kMostRefusals;
  return is_over ? &tried->second.why : nullptr;
}

// A key that lies, and a want of memory or of descriptors, say nothing of the way.
void Imports::note_refusal(const Gpu& gpu, int from, const IpcKey& key, const Error& why) {
  reached_[from] = {"staged: " + why.text, {}};
  if (why.code == Code::access) refused_[{from, &gpu, key.gpu}] = why.text;
  Tried& tried = tried_of(gpu, from, key);
  if (tried.has_worked || why.code == Code::intern || why.code == Code::no_mem) return;
  if (++tried.refusals == kMostRefusals)
    tried.why =
        why.text + "; refused " + std::to_string(kMostRefusals) + " times, and not tried again";
}

// Whoever lets go of it last, it is only retired: closing may wait for streams (see `retired_`).
std::shared_ptr<OpenedMemory> Imports::make(const Gpu& gpu, int from, const IpcKey& key) {
  return {new OpenedMemory(driver_, pools_, gpu, from, key),
          [this](OpenedMemory* unused) { retired_.emplace_back(unused); }};
}

void Imports::close_retired() {
  if (retired_.empty()) return;
  if (const Rest rest(driver_.enqueued); rest) retired_.clear();
}

// "NVLink 18"
std::string Imports::join_of(const GpuPair& gpus) const {
  if (gpus.first == gpus.second) return "same GPU";
  if (!nvml_) nvml_.emplace();
  const auto links = nvml_->links_between(gpus.first, gpus.second);
  if (!links) return "another GPU (" + links.error().text + ")";
  return *links > 0 ? "NVLink " + std::to_string(*links) : "another GPU, no NVLink";
}

std::string Imports::reach_text(int from) const {
  const auto found = reached_.find(from);
  if (found == reached_.end()) return "";
  const auto& [why_not, gpus] = found->second;
  return why_not.empty() ? join_of(gpus) : why_not;
}

}  // namespace tutti::device::cuda
