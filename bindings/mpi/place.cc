// The first frame outside of this library, and what addr2line says of it.
#include "mpi/place.h"

#include <elf.h>
#include <link.h>
#include <sys/auxv.h>
#include <unistd.h>
#include <unwind.h>

#include <span>

#include "mpi/crash_lines.h"

namespace tutti::mpi {
namespace {

constexpr std::size_t kLongestPlace = 200;  // names of templates have no end

struct Caller {
  const void* ours = nullptr;  // where this library begins
  void* at = nullptr;
};

_Unwind_Reason_Code look_at(_Unwind_Context* context, void* into) {
  Caller& caller = *static_cast<Caller*>(into);
  char* const at = reinterpret_cast<char*>(_Unwind_GetIP(context));
  Dl_info info{};
  // A return address may be past its function's end already.
  if (at == nullptr || ::dladdr(at - 1, &info) == 0 || info.dli_fbase == caller.ours)
    return _URC_NO_REASON;
  caller.at = at - 1;
  return _URC_END_OF_STACK;
}

}  // namespace

ProgramFile program_file() {
  Dl_info info{};
  ::dladdr(reinterpret_cast<const void*>(::getauxval(AT_ENTRY)), &info);
  return {info.dli_fbase, "/proc/" + std::to_string(::getpid()) + "/exe"};
}

// Of "main at a.c:3 (discriminator 2)", "main at ??:?", "?? ??:0".
std::string_view known_place(std::string_view line) {
  line = line.substr(0, line.rfind(" (discriminator"));
  line = line.substr(0, line.rfind(" at ??:"));
  return line.starts_with("??") || line.size() > kLongestPlace ? "" : line;
}

std::uintptr_t address_in_file(const void* at, const Dl_info& info) {
  const auto* const header = static_cast<const ElfW(Ehdr)*>(info.dli_fbase);
  const auto begin = reinterpret_cast<std::uintptr_t>(header);
  return reinterpret_cast<std::uintptr_t>(at) - (header->e_type == ET_EXEC ? 0 : begin);
}

std::string place_of_caller() {
  Dl_info info{};
  Caller caller;
  if (::dladdr(reinterpret_cast<const void*>(&place_of_caller), &info) == 0) return "";
  caller.ours = info.dli_fbase;
  _Unwind_Backtrace(&look_at, &caller);
  if (caller.at == nullptr || ::dladdr(caller.at, &info) == 0) return "";
  SourcePlace place;
  place.address = address_in_file(caller.at, info);
  const ProgramFile program = program_file();
  CrashLines lines;
  lines.ask(program.path_of(info), std::span(&place, 1));
  return std::string(place.line);
}

}  // namespace tutti::mpi
