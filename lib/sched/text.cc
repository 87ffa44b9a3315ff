// Schedules as text: one header line, one line a step, edges as "then" lists.
//
//   schedule scratch 8 reduces 1
//   0 send in 0 4 to 3
//   1 recv scratch 0 4 from 2 then 2
//   2 reduce scratch 0 4 first into out 0 4
#include "base/text.h"

#include <sstream>

#include "sched/hazards.h"
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

// Reads words; the first that does not fit is remembered and everything after is ignored.
class TextReader {
 public:
  explicit TextReader(const std::string& line) : words_(line) {}

  std::string word() {
    std::string word;
    words_ >> word;
    return word;
  }
  void expect(const char* wanted) {
    const std::string got = word();
    if (got != wanted) complain("'" + std::string(wanted) + "' expected, not '" + got + "'");
  }
  Count number() {
    const std::string got = word();
    const auto value = text::parse_int(got);
    if (!value || *value < 0) complain("a number expected, not '" + got + "'");
    return value.value_or(0);
  }
  Slice slice() {
    const std::string name = word();
    Slice slice;
    if (name == "in")
      slice.space = Space::in;
    else if (name == "scratch")
      slice.space = Space::scratch;
    else if (name != "out")
      complain("in, out or scratch expected, not '" + name + "'");
    slice.offset = number();
    slice.count = number();
    return slice;
  }
  bool at_end() { return (words_ >> std::ws).eof(); }
  void complain(const std::string& what) {
    if (wrong_.empty()) wrong_ = what;
  }
  const std::string& wrong() const { return wrong_; }

 private:
  std::istringstream words_;
  std::string wrong_;
};

Step read_step(TextReader& reader) {
  Step step;
  const std::string kind = reader.word();
  if (kind == "send") {
    step.kind = StepKind::send;
    step.from = reader.slice();
    reader.expect("to");
    step.peer = static_cast<std::int32_t>(reader.number());
  } else if (kind == "recv") {
    step.kind = StepKind::recv;
    step.into = reader.slice();
    reader.expect("from");
    step.peer = static_cast<std::int32_t>(reader.number());
  } else if (kind == "copy" || kind == "reduce") {
    step.kind = kind == "copy" ? StepKind::copy : StepKind::reduce;
    step.from = reader.slice();
    if (step.kind == StepKind::reduce) {
      const std::string order = reader.word();
      if (order != "first" && order != "second")
        reader.complain("first or second expected, not '" + order + "'");
      step.from_first = order == "first";
    }
    reader.expect("into");
    step.into = reader.slice();
  } else {
    reader.complain("send, recv, copy or reduce expected, not '" + kind + "'");
  }
  return step;
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

Result<Schedule> from_text(const std::string& text) {
  Schedule schedule;
  std::vector<Dependency> edges;
  const auto lines = text::split(text, '\n');
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (text::trim(lines[i]).empty()) continue;
    TextReader reader(lines[i]);
    if (i == 0) {
      reader.expect("schedule");
      reader.expect("scratch");
      schedule.scratch = reader.number();
      reader.expect("reduces");
      schedule.reduces = reader.number() != 0;
    } else {
      const auto index = static_cast<std::uint32_t>(schedule.steps.size());
      if (reader.number() != index) reader.complain("step " + std::to_string(index) + " expected");
      schedule.steps.push_back(read_step(reader));
      if (!reader.at_end()) reader.expect("then");
      while (!reader.at_end() && reader.wrong().empty())
        edges.emplace_back(index, static_cast<std::uint32_t>(reader.number()));
    }
    if (!reader.wrong().empty())
      return fail(Code::arg,
                  "schedule text, line " + std::to_string(i + 1) + ": " + reader.wrong());
  }
  for (const auto& [earlier, later] : edges)
    if (later <= earlier || later >= schedule.steps.size())
      return fail(Code::arg, "schedule text: step " + std::to_string(earlier) + " names step " +
                                 std::to_string(later) + ", which is not a later one");
  store_edges(schedule, edges);
  return schedule;
}

}  // namespace tutti::sched
