// Tables of sizes and addresses in a giver's entry.
#include "delegate/shm/giver_entry.h"

namespace tutti::delegate {
namespace {

std::size_t table_bytes(const Members& members) {
  return sizeof(Count) * static_cast<std::size_t>(members.size());
}

}  // namespace

std::size_t GiverEntry::tables_bytes(const Members& members) {
  const std::size_t table = table_bytes(members);
  return 2 * table <= members.geometry().entry_bytes ? 2 * table : table;
}

Count GiverEntry::bytes_said() const {
  const Count size = size_in(entry_.word);
  if (!exchange_.to_each) return size;
  const std::size_t bytes =
      is_in_rounds() ? tables_bytes(members_) : static_cast<std::size_t>(size);
  return reinterpret_cast<const Count*>(entry_.payload(bytes))[members_.me()];
}

bool GiverEntry::is_sound() const {
  const Count bytes = size_in(entry_.word);
  if (is_in_rounds()) return true;
  if (bytes > static_cast<Count>(members_.geometry().entry_bytes)) return false;
  if (!exchange_.to_each) return true;
  const auto* const sizes =
      reinterpret_cast<const Count*>(entry_.payload(static_cast<std::size_t>(bytes)));
  Count left = bytes - static_cast<Count>(table_bytes(members_));
  for (int member = 0; member < members_.size() && left >= 0; ++member)
    left = sizes[member] < 0 || sizes[member] > left ? -1 : left - sizes[member];
  return left == 0;
}

std::byte* GiverEntry::block() const {
  std::byte* at = entry_.payload(static_cast<std::size_t>(size_in(entry_.word)));
  if (!exchange_.to_each) return at;
  const auto* const sizes = reinterpret_cast<const Count*>(at);
  at += table_bytes(members_);
  for (int member = 0; member < members_.me(); ++member) at += sizes[member];
  return at;
}

std::byte* GiverEntry::addresses() const {
  if (!exchange_.to_each || exchange_.call.uneven == nullptr) return entry_.short_payload;
  const std::size_t table = table_bytes(members_);
  return tables_bytes(members_) == table ? nullptr : entry_.payload(tables_bytes(members_)) + table;
}

}  // namespace tutti::delegate
