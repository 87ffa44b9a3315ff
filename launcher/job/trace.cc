// --trace: one JSON object an event, written as parcels come.
#include <cerrno>
#include <cinttypes>
#include <cstring>

#include "job/usage.h"
#include "watch/recorder.h"
#include "watch/watch.h"
#include "wireup/protocol.h"

namespace tutti::launch::job {
namespace {

std::string in_json(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out;
}

std::string arguments_of(const watch::Event& event) {
  if (event.detailed == 0) return "{}";
  std::string text = "{\"bytes\":" + std::to_string(event.bytes);
  const bool collective = event.context % 2 == 1;  // comm/context_ids.h
  if (event.peer >= 0)
    text += (collective ? ",\"root\":" : ",\"peer\":") + std::to_string(event.peer);
  if (!collective && event.tag >= 0) text += ",\"tag\":" + std::to_string(event.tag);
  if (collective && event.sequence > 0) text += ",\"number\":" + std::to_string(event.sequence);
  return text + ",\"communicator\":" + std::to_string(event.context / 2) + "}";
}

// a + sign * b; times are a rank's word, and nonsense wraps.
std::int64_t wrapped(std::int64_t a, std::int64_t b, int sign) {
  const auto second = static_cast<std::uint64_t>(b);
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + (sign > 0 ? second : -second));
}

}  // namespace

Result<std::unique_ptr<Trace>> Trace::open(const std::string& path, std::vector<int> host_of_rank,
                                           const std::vector<std::string>& host_names) {
  std::FILE* file = std::fopen(path.c_str(), "we");
  if (file == nullptr)
    return fail(Code::other, "cannot write the trace to " + path + ": " + std::strerror(errno));
  std::unique_ptr<Trace> trace(new Trace(file, path, std::move(host_of_rank)));
  std::fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", file);
  for (std::size_t i = 0; i < host_names.size(); ++i) {
    trace->begin_entry();
    std::fprintf(file, R"({"ph":"M","name":"process_name","pid":%zu,"args":{"name":"host %s"}})", i,
                 in_json(host_names[i]).c_str());
  }
  for (std::size_t rank = 0; rank < trace->hosts_.size(); ++rank) {
    trace->begin_entry();
    std::fprintf(file,
                 R"({"ph":"M","name":"thread_name","pid":%d,"tid":%zu,"args":{"name":"rank %zu"}})",
                 trace->hosts_[rank], rank, rank);
  }
  return trace;
}

Trace::~Trace() {
  if (file_ != nullptr) (void)close();
}

void Trace::begin_entry() {
  if (any_) std::fputs(",\n", file_);
  any_ = true;
}

void Trace::take(const control::Used& used) {
  if (static_cast<wireup::RankSays>(used.says) != wireup::RankSays::events) return;
  std::string_view parcel = used.bytes;
  watch::EventsHead head{};
  if (parcel.size() < sizeof head || file_ == nullptr) return;
  std::memcpy(&head, parcel.data(), sizeof head);
  parcel.remove_prefix(sizeof head);
  for (; parcel.size() >= sizeof(watch::Event); parcel.remove_prefix(sizeof(watch::Event))) {
    watch::Event event{};
    std::memcpy(&event, parcel.data(), sizeof event);
    const std::int64_t begin = wrapped(event.begin_ns, head.wall_minus_steady_ns, 1);
    if (base_ns_ == 0) base_ns_ = begin;
    begin_entry();
    std::fprintf(
        file_,
        R"({"ph":"X","name":"%s","cat":"mpi","pid":%d,"tid":%d,"ts":%.3f,"dur":%.3f,"args":%s})",
        watch::function_name(event.function), hosts_[static_cast<std::size_t>(used.rank)],
        used.rank, static_cast<double>(wrapped(begin, base_ns_, -1)) / 1000,
        static_cast<double>(wrapped(event.end_ns, event.begin_ns, -1)) / 1000,
        arguments_of(event).c_str());
  }
}

Result<void> Trace::close() {
  std::fputs("\n]}\n", file_);
  const bool failed = std::ferror(file_) != 0;
  const bool closed = std::fclose(std::exchange(file_, nullptr)) == 0;
  if (failed || !closed)
    return fail(Code::other, "the trace in " + path_ + " is not whole: " + std::strerror(errno));
  return {};
}

}  // namespace tutti::launch::job
