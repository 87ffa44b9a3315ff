// Memory files made while the job runs, shared among the ranks of a host as windows will share
// theirs. By wireup alone: MPI has no call for it yet. `share killed`: rank 0 is killed while it
// shares, the others live on. `share waits FILE`: nothing is taken before there is that file.
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "wireup/wireup.h"

namespace {

using namespace tutti;          // NOLINT(google-build-using-namespace): a test
using namespace tutti::wireup;  // NOLINT(google-build-using-namespace): a test

constexpr std::size_t kBytes = 1 << 16;
int wrong = 0;

void expect(bool good, const std::string& what) {
  if (good) return;
  ++wrong;
  std::fprintf(stderr, "wrong: %s\n", what.c_str());
}

template <class T>
T must(Result<T> result, const char* what) {
  if (result) return std::move(*result);
  std::fprintf(stderr, "%s: %s\n", what, result.error().text.c_str());
  std::exit(1);
}

void expect_refused(Wireup& world, const ShareKey& key, std::string_view why) {
  const auto taken = world.take(key);
  expect(!taken && taken.error().text.find(why) != std::string::npos,
         std::string(taken ? "a file" : taken.error().text) + " instead of: " + std::string(why));
  expect(taken || taken.error().text.find('\n') == std::string::npos, "one line");
}

bool comes(const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(100);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

UniqueFd memory_file() {
  UniqueFd fd(::memfd_create("window", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (::ftruncate(fd.get(), kBytes) != 0) std::exit(1);
  return fd;
}

// Words of each rank, in a file that its neighbours have mapped, too.
class Words {
 public:
  explicit Words(const UniqueFd& fd)
      : at_(static_cast<std::atomic<int>*>(
            ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0))) {
    if (static_cast<void*>(at_) == MAP_FAILED) std::exit(1);
  }
  std::atomic<int>& operator[](int rank) const { return at_[rank]; }

 private:
  std::atomic<int>* at_;  // to the end of the process
};

struct Keys {
  ShareKey all, next;  // for the whole host; for the next local rank
};

Keys keys_of(Wireup& world, int rank) {
  Keys keys;
  const BlobView blob = must(world.get(rank), "keys");
  if (blob.size() != sizeof keys) std::exit(1);
  std::memcpy(&keys, blob.data(), sizeof keys);
  return keys;
}

std::vector<int> neighbours(const Wireup& world) {
  std::vector<int> all;
  for (int rank = 0; rank < world.size(); ++rank)
    if (world.host_of(rank) == world.host() && rank != world.rank()) all.push_back(rank);
  return all;
}

// Keys that are no good: one clear refusal each, and nothing else happens.
void try_wrong_keys(Wireup& world, const ShareKey& good) {
  ShareKey key = good;
  key.secret[7] ^= 1;
  expect_refused(world, key, "nothing is shared under this key");
  key = good;
  key.number += 1000;
  expect_refused(world, key, "nothing is shared under this key");
  key = good;
  ++key.generation;
  expect_refused(world, key, "MPI program");
  key = good;
  key.sharer = 4000;
  expect_refused(world, key, "not of a rank of this host");
  key = good;
  key.bytes += 4096;
  expect_refused(world, key, "not a file of");
}

void try_wrong_files(Wireup& world) {
  const auto refused = [&world](int fd, const std::vector<int>& to, const char* why) {
    const auto shared = world.share(fd, to);
    expect(!shared && shared.error().text.find(why) != std::string::npos,
           shared ? "it was shared" : shared.error().text);
  };
  int pipe[2] = {-1, -1};
  expect(::pipe(pipe) == 0, "a pipe");
  refused(pipe[0], {}, "no memory file");
  refused(-1, {}, "no memory file");
  const UniqueFd sealed(::memfd_create("sealed", MFD_CLOEXEC));  // against sealing
  expect(::ftruncate(sealed.get(), kBytes) == 0, "room");
  refused(sealed.get(), {}, "MFD_ALLOW_SEALING");
  const UniqueFd file = memory_file();
  refused(file.get(), {world.size()}, "there is no rank");
  for (int rank = 0; rank < world.size(); ++rank)
    if (world.host_of(rank) != world.host()) refused(file.get(), {rank}, "its own host only");
  std::vector<Shared> many;
  auto last = world.share(file.get());
  for (; last && many.size() < 2 * kMostShared; last = world.share(file.get()))
    many.push_back(std::move(*last));
  expect(!last && last.error().text.find("already") != std::string::npos, "no end of files");
  expect(many.size() < kMostShared, "others were shared before");
  expect(::ftruncate(file.get(), 1) != 0, "a shared file does not shrink");
}

// Each maps all others' files, and writes to all.
void share_with_all(Wireup& world, const char* go) {
  const UniqueFd mine = memory_file();
  const Words own(mine);
  const std::vector<int> near = neighbours(world);
  const int next = world.segment().rank_of(
      static_cast<std::uint32_t>((world.local_rank() + 1) % world.local_size()));
  std::optional<Shared> all = must(world.share(mine.get()), "share");
  const Shared for_next = must(world.share(mine.get(), std::vector{next}), "share with one");
  const Keys keys{all->key(), for_next.key()};
  must(world.put(BlobView(reinterpret_cast<const std::byte*>(&keys), sizeof keys)).transform([] {
    return true;
  }),
       "put");
  if (go != nullptr) expect(comes([go] { return ::access(go, F_OK) == 0; }), "no word to go on");
  std::map<int, Words> theirs;
  for (const int rank : near) {
    const Keys known = keys_of(world, rank);
    theirs.emplace(rank, Words(must(world.take(known.all), "take")));
    const int wanted = (world.segment().place(static_cast<std::uint32_t>(rank)).local_rank + 1) %
                       world.local_size();
    if (wanted == world.local_rank())
      theirs.insert_or_assign(rank, Words(must(world.take(known.next), "take mine")));
    else
      expect_refused(world, known.next, "shared with other ranks only");
    theirs.at(rank)[world.rank()] = world.rank() + 1;
  }
  for (int rank = 0; rank < world.size(); ++rank)
    if (world.host_of(rank) != world.host())
      expect_refused(world, keys_of(world, rank).all, "not of a rank of this host");
  try_wrong_keys(world, keys.all);
  try_wrong_files(world);
  for (const int rank : near)
    expect(comes([&] { return own[rank] == rank + 1; }), "rank " + std::to_string(rank) + " wrote");
  // Withdrawn: nobody takes it any more, and who has it keeps it.
  all.reset();
  own[world.rank()] = -1;
  for (const int rank : near) {
    expect(comes([&] { return theirs.at(rank)[rank] == -1; }), "it was withdrawn");
    // A daemon may hear of its end a moment later.
    expect(comes([&] { return !world.take(keys_of(world, rank).all); }), "no file any more");
    theirs.at(rank)[world.rank()] = -2;
  }
  for (const int rank : near) expect(comes([&] { return own[rank] == -2; }), "all have seen it");
}

// Rank 0 shares and is killed.
void outlive_rank_0(Wireup& world) {
  const UniqueFd mine = memory_file();
  std::optional<Shared> shared;
  Keys keys;
  if (world.rank() == 0) {
    shared = must(world.share(mine.get()), "share");
    keys.all = shared->key();
  }
  must(world.put(BlobView(reinterpret_cast<const std::byte*>(&keys), sizeof keys)).transform([] {
    return true;
  }),
       "put");
  if (world.rank() == 0) {
    const Words own(mine);
    expect(comes([&] {
             for (int rank = 1; rank < world.size(); ++rank)
               if (own[rank] == 0) return false;
             return true;
           }),
           "all have taken it");
    ::raise(SIGKILL);
  }
  const ShareKey key = keys_of(world, 0).all;
  const Words words(must(world.take(key), "take"));
  words[world.rank()] = 1;
  expect(comes([&] { return !world.take(key); }), "what a killed rank shared is given away");
  words[world.rank()] = 2;  // the file itself is still there
  expect(words[world.rank()] == 2, "the file is gone");
}

}  // namespace

int main(int count, char** arguments) {
  auto world = must(join([](const char* name) { return std::getenv(name); }), "join");
  if (count > 1 && std::string_view(arguments[1]) == "killed")
    outlive_rank_0(*world);
  else
    share_with_all(*world, count > 2 ? arguments[2] : nullptr);
  must(world->finalized().transform([] { return true; }), "end");
  if (wrong == 0) std::printf("rank %d: good\n", world->rank());
  return wrong == 0 ? 0 : 1;
}
