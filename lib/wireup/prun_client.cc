// The client of prun: the segment and the control socket are inherited from the daemon, or asked
// for at its door where something closed them on the way.
//
// MPI_Init is: read three variables, map, say "joined". Nothing is waited for; addresses of
// other hosts' ranks are awaited when the first message to them needs one.
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <optional>

#include "base/clock.h"
#include "base/kept_fd.h"
#include "base/log.h"
#include "base/text.h"
#include "wireup/address_wait.h"
#include "wireup/door.h"
#include "wireup/protocol.h"
#include "wireup/wireup.h"

namespace tutti::wireup {
namespace {

// Sleeps until `word` is no longer `seen`, for at most 100 ms.
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t seen) {
  timespec limit{0, 100'000'000};
  ::syscall(SYS_futex, &word, FUTEX_WAIT, seen, &limit, nullptr, 0);
}

// A socket as those to a daemon are, and nothing else that has got its number.
bool is_channel(int fd) {
  int type = 0;
  socklen_t length = sizeof type;
  return ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_SEQPACKET;
}

class PrunClient final : public Wireup {
 public:
  PrunClient(std::shared_ptr<Segment> segment, UniqueFd control, DoorWay door)
      : control_(std::move(control)), door_(std::move(door)) {
    const int local = door_.local;
    segment_ = std::move(segment);
    local_rank_ = local;
    rank_ = segment_->rank_of(static_cast<std::uint32_t>(local));
  }

  // Tells the daemon that this process is the rank. From here on others know it, since MPI_Init
  // talks to some of them: no other process can be this rank before this one has finalized.
  Result<void> begin() {
    LocalRecord& record = own();
    record.pid = static_cast<std::int32_t>(::getpid());
    enter(RankState::running);
    return say(RankSays::joined, record.pid, {});
  }

  LocalRecord& own() { return segment_->local(static_cast<std::uint32_t>(local_rank_)); }

  // release: who sees "running" also sees the pid (the daemon and single-copy peers).
  void enter(RankState state) {
    own().state.store(static_cast<std::uint32_t>(state), std::memory_order_release);
  }

  Result<void> say(RankSays what, int value, std::string_view payload) {
    RankMessage head{static_cast<std::uint32_t>(what), value,
                     static_cast<std::uint32_t>(payload.size())};
    iovec parts[2] = {{&head, sizeof head}, {const_cast<char*>(payload.data()), payload.size()}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = payload.empty() ? 1 : 2;
    for (;;) {
      if (!control_.is_there()) return without_channel();
      if (::sendmsg(control_.get(), &message, MSG_NOSIGNAL) >= 0) return {};
      if (errno == EINTR) continue;
      return fail(Code::other, std::string("the daemon of this host is gone: ") +
                                   std::strerror(errno) + "; the job is ending");
    }
  }

  tl::unexpected<Error> without_channel() const {
    return fail(Code::other, "this process has closed descriptor " +
                                 std::to_string(control_.get()) +
                                 ", the library's connection to its daemon");
  }

  Result<void> put(BlobView address) override {
    if (address.size() > kAddressBytes)
      return fail(Code::intern, "addresses of " + std::to_string(address.size()) + " bytes");
    return say(RankSays::address, 0,
               {reinterpret_cast<const char*>(address.data()), address.size()});
  }

  Result<BlobView> get(int rank) override {
    RankRecord& record = segment_->rank(static_cast<std::uint32_t>(rank));
    auto& epoch = segment_->header().addresses_epoch;
    AddressWait wait(now_ns());
    for (;;) {
      const std::uint32_t seen = epoch.load(std::memory_order_acquire);
      switch (wait.look(record, now_ns())) {
        case AddressWait::Next::take:
          return BlobView(record.address, record.address_bytes);
        case AddressWait::Next::fail:
          return fail(Code::proc_aborted, name_of(rank) + " ended before it gave its address");
        case AddressWait::Next::say:
          log::warn(name_of(rank) + " gave no address for " +
                    std::to_string(AddressWait::kLongNs / 1'000'000'000) +
                    " s: it has not called MPI_Init; it lives, so this goes on");
          break;
        case AddressWait::Next::wait:
          break;
      }
      futex_wait(epoch, seen);
    }
  }

  void abort(int status, std::string_view reason, Blame blame) override {
    const RankSays what = blame == Blame::own ? RankSays::abort : RankSays::abort_after;
    const Result<void> told = say(what, status, reason.substr(0, kMaxRankPayload));
    // The daemon ends this process; the pause bounds how long we rely on it.
    if (told) ::sleep(10);
    if (!told)
      log::warn(std::string(reason) + " (its daemon is not told: " + told.error().text + ")");
    std::_Exit(status);
  }

  Result<void> finalized() override {
    enter(RankState::finalized);
    return say(RankSays::finalized, 0, {});
  }

  bool resumed() override {
    if (!say(RankSays::resumed, 0, {})) return false;
    enter(RankState::running);
    return true;
  }

  // A daemon that does not hear it ends this rank.
  void lost_peer() override { (void)say(RankSays::lost_peer, 0, {}); }

  void report_links(std::string_view lines) override {
    // A report that cannot be delivered is not worth failing for: the daemon's end is reported
    // by whoever needs the daemon next. Whole lines go, as many at a time as a message holds.
    while (!lines.empty()) {
      std::string_view some = lines.substr(0, kMaxRankPayload);
      if (some.size() < lines.size())
        if (const auto end = some.rfind('\n'); end != some.npos) some = some.substr(0, end + 1);
      if (!say(RankSays::links, 0, some)) return;
      lines.remove_prefix(some.size());
    }
  }

  void report_use(Use use, std::string_view payload) override {
    (void)say(use == Use::spent    ? RankSays::spent
              : use == Use::events ? RankSays::events
              : use == Use::call   ? RankSays::call
                                   : RankSays::sent,
              0, payload.substr(0, kMaxRankPayload));
  }

  bool hears_of_ends() const override { return true; }  // daemons tell each other
  void remark(std::string_view text) override {
    (void)say(RankSays::remark, 0, text.substr(0, kMaxRankPayload));
  }

 private:
  // The daemon shares the file for as long as the connection is there.
  struct SharedLine final : Shared::Hold {
    explicit SharedLine(UniqueFd to) : line(std::move(to)) {}
    // Children may hold it, too; they withdraw nothing.
    ~SharedLine() override {
      if (::getpid() == pid && line.is_there()) ::shutdown(line.get(), SHUT_RDWR);
    }
    KeptFd line;
    const pid_t pid = ::getpid();
  };
  Result<Shared> hand_to_host(int fd, const Takers& to) override {
    const std::string why = name_of(rank_) + " cannot share a file: ";
    auto told = ask_at_door(DoorWish::share, &to, sizeof to, fd);
    if (!told) return fail(told.error().code, why + told.error().text);
    ShareKey key;
    if (told->body.size() != sizeof key) return fail(Code::other, why + "its daemon gives no key");
    std::memcpy(&key, told->body.data(), sizeof key);
    return Shared(key, std::make_unique<SharedLine>(std::move(told->line)));
  }
  Result<UniqueFd> fetch_shared(const ShareKey& key) override {
    TUTTI_TRY(told, ask_at_door(DoorWish::take, &key, sizeof key, -1));
    return std::move(told.fd);
  }
  Result<DoorTold> ask_at_door(DoorWish wish, const void* body, std::size_t bytes, int fd) {
    if (door_.path.empty())
      return fail(Code::other,
                  "its daemon has no door; prun needs a TMPDIR that it can write to "
                  "and others cannot (or a sticky one), and what changes the environment must keep "
                  "TUTTI_*");
    return ask_daemon(door_, wish, {static_cast<const char*>(body), bytes}, fd);
  }

  KeptFd control_;      // another file of the program's may have its number by now
  const DoorWay door_;  // no path: there is none
};

// The descriptor a variable names, or an error when it is not a number.
Result<int> number_in(const Lookup& getenv, const char* name) {
  const char* text = getenv(name);
  const auto value = text == nullptr ? std::nullopt : text::parse_int(text);
  if (!value || *value < 0 || *value > INT_MAX)
    return fail(Code::other, std::string(name) + (text == nullptr ? " is missing" : " is wrong") +
                                 " although prun started this process; something changed the "
                                 "environment between prun and the program");
  return static_cast<int>(*value);
}

struct Ends {
  Segment segment;
  UniqueFd control;
};

// The inherited descriptors, where nothing closed them on the way; other files may have their
// numbers then.
std::optional<Ends> inherited(const Lookup& getenv) {
  const auto segment = number_in(getenv, kSegmentFdVariable);
  const auto control = number_in(getenv, kControlFdVariable);
  if (!segment || !control || ::fcntl(*segment, F_GETFD) < 0 || !is_channel(*control))
    return std::nullopt;
  auto attached = Segment::attach(*segment);
  if (!attached) return std::nullopt;
  return Ends{std::move(*attached), UniqueFd(*control)};
}

// From the daemon.
Result<Ends> asked_for(const Lookup& getenv, int local, DoorWish wish) {
  const char* const door = getenv(kDoorVariable);
  const char* const key = getenv(kDoorKeyVariable);
  if (door == nullptr || key == nullptr)
    return fail(
        Code::other,
        std::string(wish == DoorWish::next
                        ? "this rank has run an MPI program before"
                        : "the descriptors that prun passed are closed in this process (a program "
                          "between prun and this one closed them)") +
            ", and " + (door == nullptr ? kDoorVariable : kDoorKeyVariable) +
            " is not set: what changes the environment must keep TUTTI_*, and prun "
            "needs a TMPDIR that it can write to and others cannot (or a sticky one)");
  TUTTI_TRY(entered, enter_door(door, key, local, wish));
  TUTTI_TRY(attached, Segment::attach(entered.segment.get()));
  entered.segment.release();
  return Ends{std::move(attached), std::move(entered.control)};
}

// The inherited ones, else the daemon's.
Result<Ends> reached(const Lookup& getenv, int local) {
  auto first = inherited(getenv);
  return first ? std::move(*first) : asked_for(getenv, local, DoorWish::join);
}

// One process at a time is a rank. The lock is the kernel's: it belongs to the process, whatever
// its number and its user, and ends with it; children do not inherit it.
Result<void> claim(const Segment& segment, int local) {
  const std::string place = std::string(kLocalRankVariable) + "=" + std::to_string(local);
  if (static_cast<std::uint32_t>(local) >= segment.header().local_ranks)
    return fail(Code::other, place + " is not a rank of this host");
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  lock.l_start = local;
  lock.l_len = 1;
  if (::fcntl(segment.fd(), F_SETLK, &lock) == 0) return {};
  if (errno != EACCES && errno != EAGAIN) return {};  // a kernel that cannot
  const bool known = ::fcntl(segment.fd(), F_GETLK, &lock) == 0 && lock.l_pid > 0;
  return fail(Code::other, place + " is taken by " +
                               (known ? "process " + std::to_string(lock.l_pid) : "a process") +
                               ", which still runs: one process at a time can be a rank, and its "
                               "children cannot call MPI_Init while it lives");
}

// The segment that this process is a rank in: the inherited one, or the daemon's. Where an MPI
// program of this rank has finalized in it, the next one's.
Result<Ends> claimed(const Lookup& getenv, int local) {
  auto ends = reached(getenv, local);
  for (bool is_next = false;; is_next = true) {
    if (!ends) return ends;
    TUTTI_DO(claim(ends->segment, local));
    const auto at = static_cast<std::uint32_t>(local);
    // acquire: pairs with the release of the process before.
    const auto state = ends->segment.local(at).state.load(std::memory_order_acquire);
    if (state == static_cast<std::uint32_t>(RankState::starting)) return ends;
    if (state != static_cast<std::uint32_t>(RankState::finalized))
      return fail(Code::other,
                  "rank " + std::to_string(ends->segment.rank_of(at)) +
                      " ran an MPI program before this one, which ended without MPI_Finalize: the "
                      "other ranks count on that one, so none can follow it; see that each comes "
                      "to MPI_Finalize");
    if (is_next)
      return fail(Code::other,
                  "the daemon of this host has not heard that the MPI program before "
                  "this one has finalized");
    ends = asked_for(getenv, local, DoorWish::next);
  }
}

std::unique_ptr<PrunClient> client_of(const Lookup& getenv, int local, Ends ends) {
  auto segment = std::make_shared<Segment>(std::move(ends.segment));
  // Children of this rank are not ranks.
  ::fcntl(segment->fd(), F_SETFD, FD_CLOEXEC);
  ::fcntl(ends.control.get(), F_SETFD, FD_CLOEXEC);
  const char* const door = getenv(kDoorVariable);
  const char* const key = getenv(kDoorKeyVariable);
  const bool has_door = door != nullptr && key != nullptr;
  return std::make_unique<PrunClient>(std::move(segment), std::move(ends.control),
                                      DoorWay{has_door ? door : "", has_door ? key : "", local});
}

}  // namespace

Result<std::unique_ptr<Wireup>> join_prun(const Lookup& getenv) {
  TUTTI_TRY(local, number_in(getenv, kLocalRankVariable));
  TUTTI_TRY(ends, claimed(getenv, local));
  auto client = client_of(getenv, local, std::move(ends));
  TUTTI_DO(client->begin());
  return std::unique_ptr<Wireup>(std::move(client));
}

void abort_by_prun(const Lookup& getenv, int status, std::string_view reason) {
  const auto local = number_in(getenv, kLocalRankVariable);
  auto ends = local ? reached(getenv, *local) : tl::unexpected<Error>(local.error());
  if (ends && claim(ends->segment, *local))
    client_of(getenv, *local, std::move(*ends))->abort(status, reason, Blame::own);
}

}  // namespace tutti::wireup
