// Where the program's first break is: the kernel says it once.
#include "device/cuda/heap.h"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace tutti::device::cuda {

// "PID (NAME) STATE ...": the name may hold anything, the first break is number 47 (proc(5)).
Heap::Heap() {
  constexpr int kBehindName = 47 - 2;
  std::ifstream file("/proc/self/stat");
  std::string line;
  std::getline(file, line);
  const auto name_end = line.rfind(')');
  if (name_end == std::string::npos) return;
  std::istringstream words(line.substr(name_end + 1));
  std::string word;
  for (int i = 0; i < kBehindName; ++i)
    if (!(words >> word)) return;
  const auto first = std::strtoull(word.c_str(), nullptr, 10);
  if (first != 0) begin_ = first;  // 0: it will not say
}

}  // namespace tutti::device::cuda
