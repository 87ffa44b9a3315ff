// harness: measures one operation over a range of sizes, checks its results, reports.
//
// Written to plain MPI, so that the same source builds with any library. A benchmark is a Case;
// `measure` is its whole main: it parses the options, sweeps the sizes, prints one table a
// person can read (and JSON with --json), and returns the exit status: not 0 when a result
// was wrong. Times are seconds inside, microseconds in reports; a time is that of the slowest
// rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace bench {

struct Options {
  std::vector<std::size_t> sizes;
  double min_time = 0.2;  // seconds of measurement per size
  bool is_quick = false;
  bool is_cold = false;  // buffers are written anew before each run
  std::string json;      // file; empty: none
  std::string label;     // says in reports what was special about this run
  std::string command;
};

// What is measured. `prepare` is called once per size, `run` many times, on all ranks.
class Case {
 public:
  virtual ~Case() = default;
  virtual std::string name() const = 0;
  virtual bool has_sizes() const { return true; }
  // Without --sizes. What counts something else than bytes says how many.
  virtual const char* default_sizes() const { return "8:64M"; }
  virtual void prepare(std::size_t bytes) = 0;
  virtual void run(long iteration) = 0;
  virtual void warmed() {}  // what runs have found out so far does not count
  // As a program does that computes between calls: writes all buffers anew, with the same values.
  virtual void touch() {}
  // Runs once more on fresh data and compares every byte; true when all are right here.
  virtual bool verify() = 0;
  // Operations that one run makes: its time is divided by that (a round trip has two halves).
  virtual double operations() const { return 1; }
  // Bytes per operation over the slowest wire; 0: no bandwidth column.
  virtual double bus_bytes(std::size_t bytes) const = 0;
  // A further figure in place of the bandwidth, once all is measured; null: none. Collective.
  virtual const char* figure_name() const { return nullptr; }
  virtual double figure() { return 0; }
  // Whether several threads of a rank use MPI at once.
  virtual bool has_threads() const { return false; }
  // Ranks it needs; 0: any number.
  virtual int ranks() const { return 0; }
};

// Times of samples of one size, in seconds per operation.
struct Statistics {
  double median = 0, p5 = 0, p95 = 0, spread = 0;  // spread: (p95 - p5) / median
};
Statistics summarise(std::vector<double> samples);

struct Point {
  std::size_t bytes = 0;
  long iterations = 0;  // per sample
  std::size_t samples = 0;
  Statistics time;
  double bandwidth = 0;  // bytes per second; 0: not meant
  double figure = 0;     // of Case::figure
  bool is_right = false;
};

struct Report {
  std::string name;
  std::string library;
  std::string figure;  // its name; empty: none
  int ranks = 1;
  Options options;
  std::vector<Point> points;
  std::vector<std::pair<std::string, std::string>> facts;  // more about the run
};

// `sizes`: without --sizes. False: leave with status 2; the usage was printed to standard error if
// `is_loud`.
bool parse(int argc, char** argv, Options& options, std::string sizes, bool is_loud = true);
std::string size_text(std::size_t bytes);  // "8", "64K", "4M"

std::string table_head(const Report& report);
std::string table_row(const Report& report, const Point& point);
std::string json_text(const Report& report);
// "-": standard output, which a launcher brings home from another host.
bool write_file(const std::string& path, const std::string& text);

struct Machine {
  std::string processor, kernel, host;
  int cores = 0;
  long memory_mib = 0;
};
Machine this_machine();

// Values for checks: what rank `rank` puts at place i. Sums of a few thousand ranks are exact.
inline double value_at(std::size_t i, int rank) {
  return static_cast<double>(i % 1021 + static_cast<std::size_t>(rank) + 1);
}
inline std::uint8_t byte_at(std::size_t i, int seed) {
  return static_cast<std::uint8_t>((i * 131 + static_cast<std::size_t>(seed) * 29 + 7) & 255);
}

// Writes every element of a buffer, leaving its values.
template <class T>
void rewrite(std::vector<T>& buffer) {
  volatile T* const data = buffer.data();
  for (std::size_t i = 0; i < buffer.size(); ++i) data[i] = data[i];
}

int measure(int argc, char** argv, Case& what);

}  // namespace bench
