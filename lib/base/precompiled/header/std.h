// What nearly every file includes of the standard library, compiled once for all of them: reading
// these was two fifths of what compiling lib/comm took. Files still name what they use (a build
// with -Db_pch=false has to work, and scripts/one_definition makes one).
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>
