// The table of costs as text, and what a link costs by it.
#include "model/costs.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

#include "base/text.h"

namespace tutti::model {
namespace {

constexpr double kBitsPerByte = 8;
constexpr double kMostFigure = 1e6;  // us or GB/s: beyond is a mistake
constexpr double kLeastFigure = 1e-6;
constexpr std::string_view kFold = "fold", kGpuFold = "gpu_fold";

std::optional<double> figure(std::string_view word) {
  word = text::trim(word);
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  if (!(value >= kLeastFigure && value <= kMostFigure)) return std::nullopt;
  return value;
}

// Between `least` and `most` figures, parted by colons; else none.
std::vector<double> figures(std::string_view words, std::size_t least, std::size_t most) {
  std::vector<double> all;
  for (const std::string& word : text::split(words, ':')) {
    const auto value = figure(word);
    if (!value) return {};
    all.push_back(*value);
  }
  return all.size() < least || all.size() > most ? std::vector<double>{} : all;
}

// False: it cannot be read.
bool set(Costs& costs, std::string_view name, std::string_view words) {
  if (name == kFold || name == kGpuFold) {
    const auto rate = figures(words, 1, 1);
    if (!rate.empty()) (name == kFold ? costs.fold_gigabytes : costs.gpu_fold_gigabytes) = rate[0];
    return !rate.empty();
  }
  const auto kind = std::ranges::find(kLinkKinds, name);
  const auto given = figures(words, 2, 3);
  if (kind == kLinkKinds.end() || given.empty()) return false;
  CostRow& row = costs.links[static_cast<std::size_t>(kind - kLinkKinds.begin())];
  row = {given[0], given[1], given.size() == 3 ? given[2] : given[1]};
  return true;
}

std::string shortest(double value) {
  std::array<char, 32> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end};
}

}  // namespace

LinkClass Costs::of_link(std::string_view kind, double wire_gbits) const {
  const auto found = std::ranges::find(kLinkKinds, kind);
  const CostRow& row =
      links[found == kLinkKinds.end() ? 0 : static_cast<std::size_t>(found - kLinkKinds.begin())];
  const double rate =
      wire_gbits > 0 ? std::min(wire_gbits / kBitsPerByte, row.most_gigabytes) : row.gigabytes;
  return {row.latency_us, 1e-3 / rate};
}

Result<Costs> parse_costs(std::string_view text) {
  Costs costs;
  for (const std::string& entry : text::split(text, ',')) {
    const std::string_view word = text::trim(entry);
    if (word.empty()) continue;
    const auto equals = std::min(word.find('='), word.size());
    const bool has_value = equals < word.size();
    if (!has_value || !set(costs, text::trim(word.substr(0, equals)), word.substr(equals + 1)))
      return fail(Code::arg, "costs: '" + std::string(word) +
                                 "' is neither KIND=LATENCY:RATE[:MOST], in us and GB/s, of tcp, "
                                 "rdma, shm, self, gpu, ipc or nccl, nor fold=RATE or "
                                 "gpu_fold=RATE");
  }
  return costs;
}

std::string text_of(const Costs& costs) {
  std::string text;
  for (std::size_t i = 0; i < kLinkKinds.size(); ++i) {
    const CostRow& row = costs.links[i];
    text += std::string(kLinkKinds[i]) + "=" + shortest(row.latency_us) + ":" +
            shortest(row.gigabytes) + ":" + shortest(row.most_gigabytes) + ",";
  }
  return text + std::string(kFold) + "=" + shortest(costs.fold_gigabytes) + "," +
         std::string(kGpuFold) + "=" + shortest(costs.gpu_fold_gigabytes);
}

}  // namespace tutti::model
