// Schedules as text: one header line, one line a step, edges as "then" lists.
//
//   schedule scratch 8 reduces 1
//   0 send in 0 4 to 3
//   1 recv scratch 0 4 from 2 then 2
//   2 reduce scratch 0 4 first into out 0 4
#include "sched/sched.h"

namespace tutti::sched {
namespace {

const char* name_of(Space space) {
  switch (space) {
    case Space::in:
      return "in";
    case Space::out:
      return "out";
    case Space::scratch:
      return "scratch";
  }
  return "";
}

std::string text_of(const Slice& slice) {
  return std::string(name_of(slice.space)) + " " + std::to_string(slice.offset) + " " +
         std::to_string(slice.count);
}

std::string text_of(const Step& step) {
  switch (step.kind) {
    case StepKind::send:
      return "send " + text_of(step.from) + " to " + std::to_string(step.peer);
    case StepKind::recv:
      return "recv " + text_of(step.into) + " from " + std::to_string(step.peer);
    case StepKind::copy:
      return "copy " + text_of(step.from) + " into " + text_of(step.into);
    case StepKind::reduce:
      return "reduce " + text_of(step.from) + (step.from_first ? " first" : " second") + " into " +
             text_of(step.into);
  }
  return "";
}

}  // namespace

std::string to_text(const Schedule& schedule) {
  std::string text = "schedule scratch " + std::to_string(schedule.scratch) + " reduces " +
                     (schedule.reduces ? "1" : "0") + "\n";
  for (std::size_t i = 0; i < schedule.steps.size(); ++i) {
    const Step& step = schedule.steps[i];
    text += std::to_string(i) + " " + text_of(step);
    if (step.successor_count > 0) text += " then";
    for (std::uint32_t s = 0; s < step.successor_count; ++s)
      text += " " + std::to_string(schedule.successors[step.first_successor + s]);
    text += "\n";
  }
  return text;
}

}  // namespace tutti::sched
