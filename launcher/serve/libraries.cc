#include "serve/libraries.h"

#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/file.h"
#include "base/text.h"

namespace tutti::launch::serve {
namespace {

constexpr const char* kLoadersOwn = "/lib64:/usr/lib64:/lib:/usr/lib";

// The file of ldconfig, from its mark on; numbers of this machine's byte order.
constexpr std::string_view kCacheMark = "glibc-ld.so.cache1.1";
constexpr std::size_t kCacheHeader = 48, kCacheCount = 20;  // its size; where the count lies
struct CacheEntry {
  std::int32_t flags;
  std::uint32_t name, path;  // from the mark on; each text ends with a zero
  std::uint32_t unused;
  std::uint64_t processors;
};

std::string with_origin(std::string folder, const std::string& path) {
  const std::string origin = path.substr(0, path.rfind('/'));
  for (const std::string_view word : {"${ORIGIN}", "$ORIGIN"})
    if (const auto at = folder.find(word); at != std::string::npos)
      folder.replace(at, word.size(), origin);
  return folder;
}

// This file, if `by` can be joined with it.
std::optional<Loaded> load(const std::string& path, const Loaded& by) {
  auto elf = read_elf(path);
  if (!elf || elf->machine != by.elf.machine) return std::nullopt;
  return Loaded{path, std::move(*elf), &by};
}

}  // namespace

Libraries::Libraries(const LibraryPlaces& places) : library_path_(places.library_path) {
  const std::string all = file_text(places.cache).value_or("");
  if (const auto mark = all.find(kCacheMark); mark != std::string::npos) cache_ = all.substr(mark);
}

std::optional<Loaded> Libraries::find(const std::string& name, const Loaded& by) const {
  if (name.find('/') != std::string::npos) return load(name, by);
  // RPATH counts for all that comes by way of its file, and not at all beside a RUNPATH.
  for (const Loaded* one = &by; one != nullptr && by.elf.runpath.empty(); one = one->wanted_by)
    if (one->elf.runpath.empty())
      if (auto found = find_in(one->elf.rpath, name, by, *one)) return found;
  if (auto found = find_in(library_path_, name, by, by)) return found;
  if (auto found = find_in(by.elf.runpath, name, by, by)) return found;
  if (auto found = find_in_cache(name, by)) return found;
  return find_in(kLoadersOwn, name, by, by);
}

std::optional<Loaded> Libraries::find_in(const std::string& folders, const std::string& name,
                                         const Loaded& by, const Loaded& origin) const {
  if (folders.empty()) return std::nullopt;
  for (const std::string& folder : text::split(folders, ':'))
    if (auto found = load(with_origin(folder, origin.path) + "/" + name, by)) return found;
  return std::nullopt;
}

std::optional<Loaded> Libraries::find_in_cache(const std::string& name, const Loaded& by) const {
  if (cache_.size() < kCacheHeader) return std::nullopt;
  std::uint32_t count = 0;
  std::memcpy(&count, cache_.data() + kCacheCount, sizeof count);
  const auto text_at = [this](std::size_t at) {
    return at < cache_.size() ? std::string_view(cache_.c_str() + at) : std::string_view();
  };
  for (std::size_t i = 0; i < count; ++i) {
    CacheEntry entry{};
    const std::size_t at = kCacheHeader + i * sizeof entry;
    if (at + sizeof entry > cache_.size()) return std::nullopt;
    std::memcpy(&entry, cache_.data() + at, sizeof entry);
    if (text_at(entry.name) != name) continue;
    if (auto found = load(std::string(text_at(entry.path)), by)) return found;
  }
  return std::nullopt;
}

}  // namespace tutti::launch::serve
