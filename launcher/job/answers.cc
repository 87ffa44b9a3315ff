// What the head answers at its desk: how the job is, the stacks of its ranks, where a rank is.
#include <unistd.h>

#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "job/fold.h"
#include "job/observation.h"

namespace tutti::launch::job {
namespace {

constexpr std::size_t kStacksAtOnce = 8;  // debuggers are heavy
constexpr std::chrono::seconds kAnswerLimit{120};

}  // namespace

void Observation::open_desk() {
  const auto opened = desk_.open(
      [this](const std::string& question, const Desk::Reply& reply) { answer(question, reply); });
  if (!opened) terminal_.say(opened.error().text);
}

void Observation::answer(const std::string& question, const Desk::Reply& reply) {
  const auto words = text::split(question, ' ');
  if (question == "ps") return reply(job_line());
  if (course_.state == State::starting || course_.state == State::launching) {
    const std::string early = std::string("the job is still ") + row_of(course_.state).doing;
    return reply(question == "stacks" ? early + "\n" : "error\t" + early + "; ask again\n");
  }
  if (question == "stacks")
    return look({}, [this, reply] {
      std::vector<int> all(course_.rank_ended.size());
      std::iota(all.begin(), all.end(), 0);
      gather_stacks(std::move(all), kAnswerLimit,
                    [this, reply](const StackWish& wish) { reply(stacks_text(wish)); });
    });
  const auto rank = words.size() == 2 ? text::parse_int(words[1]) : std::nullopt;
  if (words[0] != "gdb" || !rank)
    return reply("error\tprun " + std::to_string(::getpid()) +
                 " does not understand the question\n");
  look({}, [this, reply, number = static_cast<int>(*rank)] { reply(place_line(number)); });
}

// "job TAB prun TAB ranks TAB hosts TAB seconds TAB what it does TAB command"
std::string Observation::job_line() const {
  std::string command;
  for (const std::string& word : request_.spec.apps.at(0).argv)
    command += (command.empty() ? "" : " ") + word;
  if (request_.spec.apps.size() > 1) command += " : ...";
  std::replace_if(
      command.begin(), command.end(), [](char c) { return c == '\t' || c == '\n'; }, ' ');
  const std::vector<int> flooded = watcher_.flooded();
  const std::string piles =
      flooded.empty() ? "" : ", messages pile up in rank " + rank_ranges(flooded);
  return std::to_string(course_.job_id) + "\t" + std::to_string(::getpid()) + "\t" +
         std::to_string(course_.ranks_left) + "/" + std::to_string(request_.plan.ranks.size()) +
         "\t" + std::to_string(request_.plan.hosts.size()) + "\t" +
         std::to_string((now_ns() - course_.began_ns) / 1'000'000'000) + "\t" +
         row_of(course_.state).doing + piles + "\t" + command + "\n";
}

// "at TAB pid TAB host TAB here or there", or "error TAB why".
std::string Observation::place_line(int rank) const {
  const control::SeenRank* seen = watcher_.find(rank);
  if (rank < 0 || at(rank) >= request_.plan.ranks.size())
    return "error\tthe job has ranks 0 to " + std::to_string(request_.plan.ranks.size() - 1) + "\n";
  if (seen == nullptr || seen->pid <= 0 || course_.rank_ended[at(rank)])
    return "error\trank " + std::to_string(rank) + " has ended\n";
  const int host = request_.plan.ranks[at(rank)].host;
  return "at\t" + std::to_string(seen->pid) + "\t" + name_of(host) + "\t" +
         (calls_.is_far(host) ? "there" : "here") + "\n";
}

// Of those among them that live.
void Observation::gather_stacks(std::vector<int> ranks, std::chrono::seconds limit,
                                std::function<void(const StackWish&)> then) {
  std::erase_if(ranks, [this](int rank) { return course_.rank_ended[at(rank)]; });
  auto wish = std::make_shared<StackWish>();
  wish->then = std::move(then);
  wish->to_ask.assign(ranks.rbegin(), ranks.rend());
  stack_wishes_.push_back(wish);
  for (std::size_t i = 0; i < kStacksAtOnce; ++i) ask_next_stack(*wish);
  loop_.after(limit, [this, wish] { finish_stacks(wish); });
  if (wish->asked.empty()) finish_stacks(wish);
}

void Observation::ask_next_stack(StackWish& wish) {
  if (wish.to_ask.empty()) return;
  const int rank = wish.to_ask.back();
  wish.to_ask.pop_back();
  wish.asked.insert(rank);
  look({0, {rank}}, nullptr);
}

void Observation::take_stack(const control::Stack& stack) {
  const auto wishes = stack_wishes_;
  for (const auto& wish : wishes) {
    if (wish->asked.erase(stack.rank) == 0) continue;
    wish->stack_of[stack.rank] = stack.text;
    ask_next_stack(*wish);
    if (wish->asked.empty()) finish_stacks(wish);
  }
}

void Observation::finish_stacks(const std::shared_ptr<StackWish>& wish) {
  if (std::erase(stack_wishes_, wish) > 0) wish->then(*wish);
}

std::string Observation::stacks_text(const StackWish& wish) const {
  std::map<std::string, std::vector<int>> ranks_in;  // equal stacks once
  for (const auto& [rank, stack] : wish.stack_of) ranks_in[shorten_stack(stack)].push_back(rank);
  std::string text = report();
  for (const auto& [stack, ranks] : ranks_in) {
    const bool one = ranks.size() == 1;
    text += "    stack of " + ranks_text(ranks) +
            (one ? " on host " + host_of_rank(ranks[0]) : "") + ":\n" + stack;
  }
  if (!wish.asked.empty())
    text += "    no answer in time from ranks " +
            rank_ranges({wish.asked.begin(), wish.asked.end()}) + "\n";
  return text;
}

}  // namespace tutti::launch::job
