// sweep.cc: measures a case over its sizes.
//
// A sample is so many runs that the clock and the barrier before it do not matter; there are
// as many samples as the time allows. All ranks take the same decisions, because they decide
// by the slowest rank's time, which all of them know.
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "harness.h"

namespace bench {

namespace {

constexpr double kSampleTime = 0.5e-3;
constexpr double kTimedTime = 2e-3;  // of the runs of a warm-up whose time counts
constexpr double kWarmUpTime = 20e-3;
constexpr long kWarmUpRuns = 120;
constexpr long kMostRuns = 1 << 16;

double slowest(double mine) {
  double all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return all;
}

double time_of(Case& what, long runs) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (long i = 0; i < runs; ++i) what.run(i);
  return MPI_Wtime() - start;
}

// Each run alone, after its buffers were written and all ranks have met.
double cold_time_of(Case& what, long runs) {
  double time = 0;
  for (long i = 0; i < runs; ++i) {
    what.touch();
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    what.run(i);
    time += MPI_Wtime() - start;
  }
  return time;
}

// Seconds of one run, once connections, caches and buffers are warm, and a library that tries its
// ways while it works has tried them: after so many runs, and so long, but not more than five times
// as long as is measured. The least of several: a rank that lost its core for a moment must not
// make the samples short.
double warm_up(Case& what, const Options& options) {
  const auto time = options.is_cold ? &cold_time_of : &time_of;
  double per_run = slowest(time(what, 1)), spent = 0;  // the first one connects
  long done = 0;
  for (long runs = 1; runs < kMostRuns; runs *= 2) {
    const double taken = slowest(time(what, runs));
    per_run = std::min(per_run, taken / static_cast<double>(runs));
    spent += taken;
    done += runs;
    const bool is_warm = done >= kWarmUpRuns && spent > kWarmUpTime;
    const bool is_timed = per_run * static_cast<double>(runs) > kTimedTime;
    if ((is_warm && is_timed) || spent + 2 * taken > 5 * options.min_time) break;
  }
  what.warmed();
  return std::max(per_run, 1e-9);
}

Point measure_size(Case& what, std::size_t bytes, const Options& options) {
  Point point;
  point.bytes = bytes;
  what.prepare(bytes);
  const double per_run = warm_up(what, options);
  point.iterations = std::clamp(std::lround(kSampleTime / per_run), 1L, kMostRuns);
  const double per_sample = per_run * static_cast<double>(point.iterations);
  const double fewest = per_sample > 0.05 ? 3 : 9;
  point.samples =
      static_cast<std::size_t>(std::clamp(options.min_time / per_sample, fewest, 2000.0));
  std::vector<double> mine(point.samples);
  for (double& sample : mine) {
    const double time =
        options.is_cold ? cold_time_of(what, point.iterations) : time_of(what, point.iterations);
    sample = time / static_cast<double>(point.iterations) / what.operations();
  }
  std::vector<double> samples(point.samples);
  MPI_Allreduce(mine.data(), samples.data(), static_cast<int>(point.samples), MPI_DOUBLE, MPI_MAX,
                MPI_COMM_WORLD);
  point.time = summarise(samples);
  point.bandwidth = what.bus_bytes(bytes) / point.time.median;
  if (what.figure_name() != nullptr) point.figure = what.figure();
  int wrong_here = what.verify() ? 0 : 1;
  int wrong = 0;
  MPI_Allreduce(&wrong_here, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  point.is_right = wrong == 0;
  return point;
}

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

std::string library_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  std::string version(text, static_cast<std::size_t>(length));
  while (!version.empty() && (version.back() == '\n' || version.back() == '\0')) version.pop_back();
  return version.substr(0, version.find('\0'));
}

int sweep(Case& what, const Options& options, int rank) {
  Report report;
  report.name = what.name();
  report.library = library_version();
  if (what.figure_name() != nullptr) report.figure = what.figure_name();
  report.options = options;
  MPI_Comm_size(MPI_COMM_WORLD, &report.ranks);
  if (what.ranks() != 0 && what.ranks() != report.ranks) {
    if (rank == 0) {
      std::fprintf(stderr, "%s needs %d ranks, not %d\n", report.name.c_str(), what.ranks(),
                   report.ranks);
    }
    return 2;
  }
  if (rank == 0) print(table_head(report));
  const std::vector<std::size_t> sizes =
      what.has_sizes() ? options.sizes : std::vector<std::size_t>{0};
  for (const std::size_t bytes : sizes) {
    report.points.push_back(measure_size(what, bytes, options));
    if (rank == 0) print(table_row(report, report.points.back()));
  }
  bool is_well = std::all_of(report.points.begin(), report.points.end(),
                             [](const Point& point) { return point.is_right; });
  if (rank == 0 && !options.json.empty()) {
    is_well = write_file(options.json, json_text(report)) && is_well;
  }
  return is_well ? 0 : 1;
}

}  // namespace

int measure(int argc, char** argv, Case& what) {
  Options options;
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, what.has_threads() ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                  &provided);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int status =
      parse(argc, argv, options, what.default_sizes(), rank == 0) ? sweep(what, options, rank) : 2;
  MPI_Finalize();
  return status;
}

}  // namespace bench
