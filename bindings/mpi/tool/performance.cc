// Performance variables: the endpoint's counters. Without a world they show what the last one
// had when it closed.
#include "mpi/tool/tool.h"

namespace tutti::mpi::tool {
namespace {

using p2p::Counters;

constexpr int kCounter = MPI_T_PVAR_CLASS_COUNTER;
constexpr int kLevel = MPI_T_PVAR_CLASS_LEVEL;
constexpr int kHighest = MPI_T_PVAR_CLASS_HIGHWATERMARK;

constexpr std::array kVariables{
    PerformanceVariable{"messages_sent", "messages sent, those of collectives included", kCounter,
                        &Counters::messages_sent},
    PerformanceVariable{"bytes_sent", "bytes of these messages", kCounter, &Counters::bytes_sent},
    PerformanceVariable{"messages_received", "messages that met a receive", kCounter,
                        &Counters::messages_received},
    PerformanceVariable{"bytes_received", "bytes received of these messages", kCounter,
                        &Counters::bytes_received},
    PerformanceVariable{"offers_sent", "messages sent that asked their receiver first", kCounter,
                        &Counters::offers_sent},
    PerformanceVariable{"sends_delayed",
                        "short messages that had to ask: their peer did not receive", kCounter,
                        &Counters::sends_delayed},
    PerformanceVariable{"unexpected_messages", "messages that came before their receive", kCounter,
                        &Counters::unexpected},
    PerformanceVariable{"unexpected_queue_most",
                        "most messages that waited for a receive at a time", kHighest,
                        &Counters::unexpected_most},
    PerformanceVariable{"unexpected_queue", "messages that wait for a receive", kLevel,
                        &Counters::unexpected_now},
    PerformanceVariable{"unexpected_bytes",
                        "memory that keeps them, and frames that wait to be sent", kLevel,
                        &Counters::unexpected_bytes_now},
    PerformanceVariable{"posted_queue", "receives that wait for a message", kLevel,
                        &Counters::posted_now},
};

Counters& last() {
  static auto& counters = *new Counters;  // kept: see process.h
  return counters;
}

}  // namespace

std::span<const PerformanceVariable> variables() {
  return kVariables;
}

std::uint64_t value_now(const PerformanceVariable& variable) {
  if (process.world == nullptr) return last().*variable.value;
  return process.world->endpoint().counters().*variable.value;
}

void keep_counters(const p2p::Counters& counters) {
  last() = counters;
}

}  // namespace tutti::mpi::tool
