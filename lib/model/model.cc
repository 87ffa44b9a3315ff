// Closed forms of the patterns.
#include "model/model.h"

#include <algorithm>
#include <cmath>

namespace tutti::model {
namespace {

constexpr double kEnds = 2;  // of a message

double levels(double n) {
  return n <= 1 ? 0 : std::ceil(std::log2(n) - 1e-9);
}
double levels(double n, int radix) {
  return n <= 1 ? 0 : std::ceil(std::log2(n) / std::log2(radix) - 1e-9);
}

// Children of the root of a k-nomial tree.
double children(double n, int radix) {
  double count = 0;
  for (double stride = 1; stride < n; stride *= radix)
    count += std::min<double>(radix - 1, std::ceil(n / stride) - 1);
  return count;
}

}  // namespace

Model::Link Model::link_of(const LinkClass& facts, double slowdown) {
  const double latency = facts.latency_us * slowdown;
  return {latency, facts.us_per_byte, latency * kGapShare};
}

Model::Model(const TeamFacts& team, std::int64_t segment_bytes)
    : p_(team.size),
      hosts_(std::max(team.hosts, 1)),
      local_(std::ceil(p_ / hosts_)),
      share_(team.consecutive ? 1 : local_),
      segment_(static_cast<double>(segment_bytes)),
      fold_(team.fold_us_per_byte),
      in_turns_(!team.consecutive && team.hosts > 1),
      sharing_(std::max(1.0, std::min(team.ranks_per_core, local_))),
      // Ranks that share a core answer one after another.
      inside_(link_of(team.inside, team.oversubscribed ? 1 + team.largest_host / 2.0 : 1)),
      between_(link_of(team.between, 1)) {
  inside_.per_byte *= std::min(sharing_, kEnds);
}

Model Model::everyone() const {
  Model part(*this);
  part.inside_.per_byte *= sharing_ / std::min(sharing_, kEnds);
  part.between_.latency *= sharing_;
  part.between_.gap *= sharing_;
  part.between_.per_byte *= sharing_;
  part.sharing_ = 1;
  return part;
}

Model Model::inside_host() const {
  Model part(*this);
  part.p_ = local_;
  part.hosts_ = part.share_ = 1;
  part.in_turns_ = false;
  return part;
}

Model Model::leaders() const {
  Model part(*this);
  part.sharing_ = std::max(1.0, sharing_ / local_);
  part.p_ = hosts_;
  part.local_ = part.share_ = 1;
  part.in_turns_ = false;
  return part;
}

Model Model::stripes() const {
  Model part = leaders();
  part.between_.latency *= sharing_;
  part.between_.gap *= sharing_;
  return part;
}

Model Model::host_by_host() const {
  Model part(*this);
  part.share_ = 1;
  part.in_turns_ = false;
  return part;
}

double Model::pieces(double n) const {
  return segment_ > 0 && n > segment_ ? std::ceil(n / segment_) : 1;
}
double Model::piece(double n) const {
  return n / pieces(n);
}

double Model::hop(double n) const {
  return spans_hosts() ? between_.message(n) : inside_.message(n);
}

double Model::star(double n, double fold) const {
  const double near = (local_ - 1) * (inside_.busy(n) + fold * n);
  const double far = (p_ - local_) * (between_.busy(n) + fold * n);
  return p_ <= 1 ? 0 : hop(0) + near + far;
}

double Model::tree(double n, int radix, double fold) const {
  if (p_ <= 1) return 0;
  const double s = piece(n);
  const double near = levels(local_, radix);
  const double far = levels(hosts_, radix);
  const double near_children = children(local_, radix);
  const double far_children = children(hosts_, radix);
  const double folding = (near_children + far_children) * fold * s;
  const double fill = near * inside_.message(s) + (near_children - near) * inside_.busy(s) +
                      far * between_.message(s) + (share_ * far_children - far) * between_.busy(s) +
                      folding;
  const double busiest = std::max(
      {near_children * inside_.busy(s), share_ * far_children * between_.busy(s), folding});
  return fill + (pieces(n) - 1) * busiest * sharing_;  // cut, all levels are at it together
}

double Model::chain(double n, double fold) const {
  if (p_ <= 1) return 0;
  const double s = piece(n);
  const double far = in_turns_ ? p_ - 1 : hosts_ - 1;
  const double near = p_ - 1 - far;
  const double fill = near * inside_.message(s) + far * between_.message(s) + (p_ - 1) * fold * s;
  const double busiest =
      std::max({near > 0 ? inside_.busy(s) : 0, far > 0 ? share_ * between_.busy(s) : 0, fold * s});
  return fill + (pieces(n) - 1) * busiest * sharing_;
}

double Model::double_tree(double n, double fold) const {
  if (p_ <= 1) return 0;
  if (shares_cores()) return everyone().double_tree(n, fold * sharing_);
  const double half = n / 2;
  const double s = piece(half);
  const double depth = levels(p_);
  const double far = in_turns_ ? depth : std::min(depth, levels(hosts_) + (hosts_ > 2 ? 1 : 0));
  const double fill = (depth - far) * (inside_.message(s) + inside_.busy(s)) +
                      far * (between_.message(s) + between_.busy(s)) + depth * fold * s;
  // Each rank moves both halves in and both out; a host's port carries what crosses it.
  const double crossing = local_ > 1 ? std::max(3.0, 1.3 * share_) : 2;
  const double busiest =
      std::max(2 * inside_.busy(s), spans_hosts() ? crossing * between_.busy(s) : 0);
  return fill + (pieces(half) - 1) * (busiest + fold * s);
}

double Model::ring(double n, double fold) const {
  if (p_ <= 1) return 0;
  if (shares_cores()) return everyone().ring(n, fold * sharing_);
  const double steps = p_ - 1;
  const double far = in_turns_ ? steps : std::min(steps, spans_hosts() ? hosts_ : 0);
  const double around = (steps - far) * inside_.message(n) + far * between_.message(n);
  const double crossing = spans_hosts() ? steps * share_ * between_.busy(n) + between_.latency : 0;
  return std::max(around, crossing) + steps * fold * n;
}

double Model::segmented_ring(double n, double fold) const {
  if (p_ <= 1) return 0;
  if (shares_cores()) return everyone().segmented_ring(n, fold * sharing_);
  const double m = pieces(n);
  if (m <= 1) return ring(n, fold);
  const double steps = p_ - 1;
  const Link& link = spans_hosts() ? between_ : inside_;
  const double s = piece(n);
  return link.latency + steps * m * std::max(share_ * link.busy(s), fold * s) + fold * s;
}

double Model::doubling(double n, double fold) const {
  if (shares_cores()) return everyone().doubling(n, fold * sharing_);
  const double near = levels(local_);
  const double far = levels(hosts_);
  return near * inside_.message(n) + far * (between_.message(n) + (local_ - 1) * between_.busy(n)) +
         (near + far) * fold * n;
}

// Partners at `distance` are on one host when it is a whole number of turns, or below L.
double Model::round(double n, double distance) const {
  const bool inside = in_turns_ ? std::fmod(distance, hosts_) == 0 : distance < local_;
  if (!spans_hosts() || inside) return inside_.message(n);
  return between_.message(n) + (local_ - 1) * between_.busy(n);
}

double Model::halving(double n, double fold) const {
  if (shares_cores()) return everyone().halving(n, fold * sharing_);
  double time = 0;
  double part = n / 2;
  for (double distance = 1; distance < p_; distance *= 2, part /= 2)
    time += round(part, distance) + fold * part;
  return time;
}

double Model::far_halving(double n, double fold) const {
  if (shares_cores()) return everyone().far_halving(n, fold * sharing_);
  double time = 0;
  double part = n / 2;
  for (double distance = std::exp2(levels(p_) - 1); distance >= 1; distance /= 2, part /= 2)
    time += round(part, distance) + fold * part;
  return time;
}

double Model::dissemination(double n, double growth, double fold) const {
  if (shares_cores()) return everyone().dissemination(n, growth, fold * sharing_);
  double time = 0;
  for (double distance = 1; distance < p_; distance *= 2, n *= growth) {
    time += fold * n;
    // Host by host, only the last ranks of a host reach over its end.
    const bool few_cross = spans_hosts() && !in_turns_ && distance < local_;
    time +=
        few_cross ? between_.message(n) + (distance - 1) * between_.busy(n) : round(n, distance);
  }
  return time;
}

double Model::folding(double n, double fold) const {
  if (p_ <= 1 || std::exp2(levels(p_)) == p_) return 0;
  const Link& link = local_ > 1 ? inside_ : between_;
  return 2 * link.message(n) + fold * n;
}

double Model::gather(double n) const {
  if (p_ <= 1) return 0;
  const double bytes_in = n * (local_ - 1) / p_;
  const double bytes_between = n * (p_ - local_) / p_;
  return levels(local_) * inside_.latency + bytes_in * inside_.per_byte +
         levels(hosts_) * between_.latency + bytes_between * between_.per_byte;
}

double Model::all_pairs(double n, double fold) const {
  if (p_ <= 1) return 0;
  if (shares_cores()) return everyone().all_pairs(n, fold * sharing_);
  const double near = (local_ - 1) * inside_.busy(n);
  const double far = (p_ - local_) * local_ * between_.busy(n);  // a host's ranks share its port
  return hop(0) + std::max({near, far, (p_ - 1) * fold * n}) + fold * n;  // folds overlap
}

double Model::bruck_alltoall(double n) const {
  const double half = n * p_ / 2;
  const double copy = kCopyShare * inside_.per_byte;
  return dissemination(half, 1, 2 * copy) + 2 * n * p_ * copy;
}

}  // namespace tutti::model
