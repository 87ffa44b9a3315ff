// The space-time picture of a collective: a lane a rank, time to the right, as SVG.
//
// Messages are arrows from lane to lane, folds and copies are boxes on their lane. The picture
// needs no script and no font of its own; colours come as one style block.
#include <cstdio>

#include "sched/message_pairs.h"
#include "sched/sched.h"

namespace tutti::sched {
namespace {

constexpr double kLeft = 64, kTop = 44, kLane = 34, kWidth = 720, kRight = 24, kBottom = 34;

// snprintf into a string: numbers in pictures keep one decimal.
template <class... Values>
void print(std::string& text, const char* format, Values... values) {
  char line[320];
  std::snprintf(line, sizeof line, format, values...);
  text += line;
}

std::string escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '<')
      safe += "&lt;";
    else if (c == '&')
      safe += "&amp;";
    else
      safe += c;
  }
  return safe;
}

// A round number of which four to ten fit into the whole.
double tick_of(double total_us) {
  double tick = 1e-3;
  for (int i = 0; tick * 10 < total_us; ++i) tick *= i % 3 == 1 ? 2.5 : 2;
  return tick;
}

class Picture {
 public:
  Picture(std::span<const Schedule> ranks, const Timeline& line) : ranks_(ranks), line_(line) {}

  std::string make(const std::string& title) {
    const double height = y(ranks_.size()) - kLane / 2 + kBottom;
    print(text_,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
          "font-family=\"sans-serif\" font-size=\"11\">\n",
          kLeft + kWidth + kRight, height);
    text_ +=
        "<style>.lane{stroke:#ccc}.tick{stroke:#eee}.message{stroke:#3367a8;fill:none;"
        "marker-end:url(#tip)}.copy{fill:#bbb}.reduce{fill:#d9822b}</style>\n"
        "<defs><marker id=\"tip\" viewBox=\"0 0 6 6\" refX=\"6\" refY=\"3\" markerWidth=\"6\" "
        "markerHeight=\"6\" orient=\"auto\"><path d=\"M0 0L6 3L0 6z\" fill=\"#3367a8\"/></marker>"
        "</defs>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
    text_ += "<text x=\"8\" y=\"18\" font-size=\"13\">" + escaped(title) + "</text>\n";
    axis(height);
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      print(text_, "<line class=\"lane\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>", kLeft,
            y(r), kLeft + kWidth, y(r));
      print(text_, "<text x=\"8\" y=\"%.1f\">rank %zu</text>\n", y(r) + 4, r);
    }
    const MessagePairs pairs(ranks_);
    for (std::size_t r = 0; r < ranks_.size(); ++r)
      for (std::uint32_t i = 0; i < ranks_[r].steps.size(); ++i) add(pairs, {r, i});
    return text_ + "</svg>\n";
  }

 private:
  double x(double time_us) const {
    return kLeft + (line_.total_us > 0 ? time_us / line_.total_us * kWidth : 0);
  }
  double y(std::size_t rank) const { return kTop + kLane * (static_cast<double>(rank) + 0.5); }

  void axis(double height) {
    const double tick = tick_of(line_.total_us);
    for (double time = 0; time <= line_.total_us * 1.0001; time += tick) {
      print(text_, "<line class=\"tick\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>",
            x(time), kTop, x(time), height - kBottom + 4);
      print(text_, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%g us</text>\n", x(time),
            height - 10, time);
      if (line_.total_us == 0) return;
    }
  }

  void add(const MessagePairs& pairs, MessagePairs::Place place) {
    const Step& step = ranks_[place.rank].steps[place.step];
    const Timing& time = line_.ranks[place.rank][place.step];
    if (step.kind == StepKind::recv) return;
    if (step.kind != StepKind::send) {
      const bool folds = step.kind == StepKind::reduce;
      const double width = std::max(2.0, x(time.end_us) - x(time.start_us));
      print(text_,
            "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"8\"><title>step %u: "
            "%s of %lld units</title></rect>\n",
            folds ? "reduce" : "copy", x(time.start_us), y(place.rank) - 4, width, place.step,
            folds ? "fold" : "copy", static_cast<long long>(step.from.count));
      return;
    }
    const MessagePairs::Place to = pairs.partner(place);
    print(text_,
          "<path class=\"message\" d=\"M%.1f %.1fL%.1f %.1f\"><title>%lld units from rank %zu to "
          "rank %zu</title></path>\n",
          x(time.start_us), y(place.rank), x(line_.ranks[to.rank][to.step].end_us), y(to.rank),
          static_cast<long long>(step.from.count), place.rank, to.rank);
  }

  std::span<const Schedule> ranks_;
  const Timeline& line_;
  std::string text_;
};

}  // namespace

Result<std::string> draw(std::span<const Schedule> ranks, const MachineModel& machine,
                         const std::string& title) {
  TUTTI_TRY(line, cost(ranks, machine));
  return Picture(ranks, line).make(title);
}

}  // namespace tutti::sched
