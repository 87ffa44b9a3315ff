// From a debugger's output to the lines that a reader wants.
#include <algorithm>

#include "base/printable.h"
#include "base/text.h"
#include "job/watcher.h"

namespace tutti::launch::job {
namespace {

constexpr std::size_t kMostFrames = 16;  // of libraries

// The file that a frame's code is in: "#1 0xAB f () from FILE" of gdb, "#1 0xAB f - FILE" of
// eu-stack.
std::string_view file_of(std::string_view frame) {
  for (const std::string_view mark : {" from /", " - /"})
    if (const auto at = frame.rfind(mark); at != std::string_view::npos)
      return frame.substr(at + mark.size() - 1);
  return {};
}

// Where the C library's symbols are installed, gdb names its sources instead of its file.
bool is_of_libc(std::string_view frame) {
  for (const char* source : {" at ../sysdeps/", " at ./nptl/", " at ../csu/", " at ./csu/"})
    if (frame.find(source) != std::string_view::npos) return true;
  return false;
}

// Frames of one thread as a debugger prints them.
struct ThreadStack {
  std::string own, of_libraries;
  std::size_t count = 0;

  void add(std::string frame) {
    const bool has_no_name = frame.find("?? ()") != std::string::npos;
    const bool is_library =
        has_no_name || is_of_libc(frame) || file_of(frame).find(".so") != std::string_view::npos;
    if (is_library && ++count > kMostFrames) return;
    // "#0  0x00007f... name", "#0  0x00007f... in name ()": the address says nothing to a reader.
    const auto hex = frame.find_first_not_of(' ', frame.find(' '));
    const auto space = frame.find(' ', hex);
    if (space != std::string::npos && frame.compare(hex, 2, "0x") == 0) {
      const std::size_t in = frame.compare(space, 4, " in ") == 0 ? 3 : 0;
      frame.erase(hex, space + in + 1 - hex);
    }
    (is_library ? of_libraries : own) += "      " + frame + "\n";
  }
  std::string text() const { return own + of_libraries; }
};

// Where gdb's arguments begin, " (argc=1)": behind the name, and not among its templates' words.
std::size_t arguments_in(std::string_view frame) {
  for (std::size_t at = 0; (at = frame.find(" (", at)) != std::string_view::npos; ++at) {
    const std::string_view name = frame.substr(0, at);
    if (std::count(name.begin(), name.end(), '<') == std::count(name.begin(), name.end(), '>'))
      return at;
  }
  return frame.find(" (");
}

// Of "#3  0xAB in main (argc=1) at a.c:3", "#3 0xAB main - FILE"; empty: that is no frame. Names of
// C++ have spaces.
std::string function_in_frame(std::string_view line) {
  if (!line.starts_with('#')) return {};
  for (const std::string_view before : {"#", "0x", "in "})
    if (line.starts_with(before))
      line = text::trim(line.substr(std::min(line.find(' '), line.size())));
  const std::size_t file = line.find(" - /");  // eu-stack's arguments are part of the name
  return std::string(line.substr(0, file == std::string_view::npos ? arguments_in(line) : file));
}

}  // namespace

std::string shorten_stack(const std::string& text) {
  std::string frames, own_words;
  ThreadStack thread;
  for (const std::string& line : text::split(text, '\n')) {
    const auto sharp = line.find_first_not_of(' ');
    if (sharp == std::string::npos) continue;
    if (line.starts_with("Thread ") || line.starts_with("TID "))
      frames += std::exchange(thread, {}).text() + "      " + line + "\n";
    if (line.starts_with("(the tool ")) own_words += "      " + line + "\n";  // the daemon's, of it
    if (line[sharp] == '#') thread.add(line.substr(sharp));
  }
  frames += thread.text();
  if (!frames.empty()) return frames + own_words;
  for (const std::string& line : text::split(text::trim(text), '\n'))
    frames += "      " + text::printable(line, "\t") + "\n";
  return frames;
}

// The frame behind the last of MPI's.
std::string caller_in_stack(const std::string& text) {
  bool is_next = false;
  for (const std::string& line : text::split(text, '\n')) {
    const std::string name = function_in_frame(line);
    const bool is_mpi = name.starts_with("MPI_") || name.starts_with("PMPI_");
    if (is_next && !is_mpi && !name.empty()) {
      const auto at = line.rfind(" at ");
      const std::string place =
          at == std::string::npos ? "" : line.substr(std::max(at + 4, line.rfind('/') + 1));
      return name == "??" ? "" : name + (place.empty() ? "" : " at " + place);
    }
    is_next = is_mpi;
  }
  return {};
}

}  // namespace tutti::launch::job
