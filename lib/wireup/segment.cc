// Layout, creation and mapping of the job segment.
#include "wireup/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace tutti::wireup {
namespace {

constexpr char kMagic[8] = {'t', 'u', 't', 't', 'i', 's', 'e', 'g'};
constexpr std::size_t kPage = 4096;

// A rank's rings, and what it copies out of them in a lap, are longer than what its core caches for
// itself (transport/shm/lane.h).
std::uint32_t ring_bytes(std::uint32_t local_ranks) {
  constexpr std::uint32_t kTogether = 8 << 20, kMost = 2 << 20, kLeast = 256 << 10;
  const std::uint32_t senders = std::max(local_ranks, 2U) - 1;
  return std::clamp(std::bit_floor(kTogether / senders), kLeast, kMost);
}

// The same of the slots that its neighbours give long vectors through.
std::uint32_t slot_bytes(std::uint32_t local_ranks) {
  constexpr std::uint32_t kTogether = 8 << 20, kMost = 4 << 20, kLeast = 1 << 20;
  return std::clamp(std::bit_floor(kTogether / local_ranks), kLeast, kMost);
}

// Lanes shrink when there are many ranks: their number is quadratic in that of the ranks, and
// although untouched ones cost nothing, address space and the touched part should stay bounded.
void plan_lanes(SegmentFacts& header, std::uint32_t local_ranks, std::uint64_t address_space) {
  const bool few = local_ranks <= 32;
  const bool some = local_ranks <= 128;
  header.lane_lines = few ? 256 : some ? 128 : 64;
  header.lane_data_bytes = few ? ring_bytes(local_ranks) : some ? 128 << 10 : 32 << 10;
  header.lane_cell_bytes = header.lane_data_bytes / 8;  // the longest frame
  // Four lines of counters, the line slots, the data ring, the cell.
  header.lane_bytes = round_up(4 * kCacheLine + header.lane_lines * kCacheLine +
                                   header.lane_data_bytes + header.lane_cell_bytes,
                               kPage);
  // Up to 256 ranks have room for a team of all (delegate::AreaGeometry).
  const bool in_teams = local_ranks <= 256;
  header.area_count = in_teams ? 64 : 16;
  header.area_slot_bytes = few ? slot_bytes(local_ranks) : in_teams ? 256 << 10 : 64 << 10;
  header.area_bytes = std::uint64_t{header.area_slot_bytes} * local_ranks;
  // Nearly all of a segment are areas. Where addresses are few they are fewer, and communicators
  // beyond their number use messages.
  constexpr std::uint64_t kPart = 4, kLeast = 2;
  if (address_space > 0)
    header.area_count = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
        address_space / kPart / header.area_bytes, kLeast, header.area_count));
}

// That processes may have: ranks have their daemon's limit.
std::uint64_t address_space() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return 0;
  return std::max<std::uint64_t>(limit.rlim_cur, 1);
}

}  // namespace

SegmentFacts plan_segment(const SegmentShape& shape) {
  SegmentFacts header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.version = kSegmentVersion;
  header.ranks = shape.ranks;
  header.hosts = shape.hosts;
  header.local_ranks = shape.local_ranks;
  header.machine_ranks = shape.local_ranks;
  header.cores = 1;
  plan_lanes(header, shape.local_ranks, shape.address_space);

  std::uint64_t at = round_up(sizeof(SegmentHeader), kPage);
  const auto take = [&at](std::uint64_t bytes) {
    const std::uint64_t begin = at;
    at = round_up(at + bytes, kPage);
    return begin;
  };
  header.hosts_at = take(sizeof(HostRecord) * shape.hosts);
  header.places_at = take(sizeof(RankPlace) * shape.ranks);
  header.ranks_of_at = take(sizeof(std::int32_t) * shape.local_ranks);
  header.topology_bytes = shape.topology_bytes;
  header.topology_at = take(shape.topology_bytes);
  header.ranks_at = take(sizeof(RankRecord) * shape.ranks);
  header.locals_at = take(sizeof(LocalRecord) * shape.local_ranks);
  header.lanes_at = take(header.lane_bytes * shape.local_ranks * shape.local_ranks);
  header.areas_at = take(header.area_bytes * header.area_count);
  header.bytes = at;
  return header;
}

Segment::Segment(Segment&& other) noexcept
    : fd_(std::move(other.fd_)),
      base_(std::exchange(other.base_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      layout_(other.layout_) {}

Segment& Segment::operator=(Segment&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(base_, other.base_);
  std::swap(bytes_, other.bytes_);
  std::swap(layout_, other.layout_);
  return *this;
}

Segment::~Segment() {
  if (base_ != nullptr) ::munmap(base_, bytes_);
}

static Result<std::byte*> map_file(int fd, std::size_t bytes) {
  void* base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (base == MAP_FAILED)
    return fail(Code::no_mem, "cannot map the job segment of " + std::to_string(bytes) +
                                  " bytes: " + std::strerror(errno) +
                                  "; raise the address space limit (ulimit -v)");
  ::madvise(base, bytes, MADV_DONTDUMP);  // sparse and shared: core files need none of it
  return static_cast<std::byte*>(base);
}

Result<Segment> Segment::create(const SegmentFacts& facts) {
  Segment segment;
  segment.fd_.reset(::memfd_create("tutti-job", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!segment.fd_.is_open())
    return fail(Code::no_mem, std::string("cannot make the job segment: ") + std::strerror(errno));
  if (::ftruncate(segment.fd(), static_cast<off_t>(facts.bytes)) != 0)
    return fail(Code::no_mem, "cannot size the job segment to " + std::to_string(facts.bytes) +
                                  " bytes: " + std::strerror(errno) +
                                  "; raise the file size limit (ulimit -f)");
  ::fcntl(segment.fd(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  TUTTI_TRY(base, map_file(segment.fd(), facts.bytes));
  segment.base_ = base;
  segment.bytes_ = facts.bytes;
  segment.layout_ = facts;
  std::memcpy(static_cast<void*>(base), &facts, sizeof facts);
  return segment;
}

Result<Segment> Segment::attach(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0 || status.st_size < static_cast<off_t>(sizeof(SegmentHeader)))
    return fail(Code::other, "descriptor " + std::to_string(fd) + " is not a job segment");
  Segment segment;
  TUTTI_TRY(base, map_file(fd, static_cast<std::size_t>(status.st_size)));
  segment.base_ = base;
  segment.bytes_ = static_cast<std::size_t>(status.st_size);
  SegmentFacts& header = segment.layout_;
  header = segment.header();
  std::memset(header.job_key, 0, sizeof header.job_key);  // it stays where no core file shows it
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0)
    return fail(Code::other, "descriptor " + std::to_string(fd) + " is not a job segment");
  if (header.version != kSegmentVersion || header.bytes != segment.bytes_)
    return fail(Code::other, "the job segment is of version " + std::to_string(header.version) +
                                 ", this library of " + std::to_string(kSegmentVersion) +
                                 ": prun and the program use different Tutti installations");
  segment.fd_.reset(fd);
  return segment;
}

HostRecord& Segment::host(std::uint32_t host) const {
  return reinterpret_cast<HostRecord*>(base_ + layout_.hosts_at)[host];
}

RankPlace& Segment::place(std::uint32_t rank) const {
  return reinterpret_cast<RankPlace*>(base_ + layout_.places_at)[rank];
}

std::int32_t& Segment::rank_of(std::uint32_t local) const {
  return reinterpret_cast<std::int32_t*>(base_ + layout_.ranks_of_at)[local];
}

RankRecord& Segment::rank(std::uint32_t rank) const {
  return reinterpret_cast<RankRecord*>(base_ + layout_.ranks_at)[rank];
}

LocalRecord& Segment::local(std::uint32_t local) const {
  return reinterpret_cast<LocalRecord*>(base_ + layout_.locals_at)[local];
}

std::byte* Segment::lane(std::uint32_t from_local, std::uint32_t to_local) const {
  // A receiver's lanes lie together: it is the one that looks through them.
  const std::uint64_t index = std::uint64_t{to_local} * layout_.local_ranks + from_local;
  return base_ + layout_.lanes_at + index * layout_.lane_bytes;
}

std::byte* Segment::area(std::uint32_t area) const {
  return base_ + layout_.areas_at + area * layout_.area_bytes;
}

std::string_view Segment::topology() const {
  return {reinterpret_cast<const char*>(base_ + layout_.topology_at), layout_.topology_bytes};
}

static void fill_records(const Segment& segment, const JobFacts& facts) {
  for (std::size_t h = 0; h < facts.hosts.size(); ++h) {
    HostRecord& host = segment.host(static_cast<std::uint32_t>(h));
    facts.hosts[h].copy(host.name, kHostNameBytes - 1);
  }
  for (std::size_t r = 0; r < facts.host_of.size(); ++r) {
    const int at = facts.host_of[r];
    HostRecord& host = segment.host(static_cast<std::uint32_t>(at));
    const std::uint32_t local = host.local_ranks++;
    segment.place(static_cast<std::uint32_t>(r)) = {at, static_cast<std::int32_t>(local)};
    if (at == facts.this_host) segment.rank_of(local) = static_cast<std::int32_t>(r);
  }
}

Result<Segment> make_segment(const JobFacts& facts) {
  TUTTI_CHECK(facts.key.size() == sizeof(SegmentHeader::job_key), "job key of wrong size");
  SegmentShape shape;
  shape.ranks = static_cast<std::uint32_t>(facts.host_of.size());
  shape.hosts = static_cast<std::uint32_t>(facts.hosts.size());
  shape.local_ranks = static_cast<std::uint32_t>(
      std::count(facts.host_of.begin(), facts.host_of.end(), facts.this_host));
  shape.topology_bytes = facts.topology.size();
  shape.address_space = address_space();
  constexpr std::uint32_t most = sizeof(LocalRecord::senders) * 8;
  if (shape.local_ranks > most)
    return fail(Code::value_too_large, std::to_string(shape.local_ranks) +
                                           " ranks on one host; at most " + std::to_string(most));
  TUTTI_TRY(segment, Segment::create(plan_segment(shape)));
  SegmentHeader& header = segment.header();
  header.this_host = static_cast<std::uint32_t>(facts.this_host);
  header.machine_ranks =
      std::max(header.local_ranks, static_cast<std::uint32_t>(std::max(0, facts.machine_ranks)));
  header.cores = std::max(1U, facts.cores);
  header.costs = facts.costs;
  header.job_id = facts.job_id;
  header.generation = facts.generation;
  std::copy(facts.key.begin(), facts.key.end(), header.job_key);
  facts.topology.copy(reinterpret_cast<char*>(segment.base() + header.topology_at),
                      facts.topology.size());
  fill_records(segment, facts);
  return segment;
}

}  // namespace tutti::wireup
