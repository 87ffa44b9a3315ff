// Chapter 15: categories: one for all, and one for each room that owns knobs or counters.
#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <vector>

#include "base/knobs.h"
#include "bodies.h"
#include "mpi/tool/tool.h"

namespace tutti::mpi::body {
namespace {

using namespace tool;

struct Category {
  const char* name;  // of the room, as knobs call their owner
  const char* about;
};
constexpr std::array kCategories{
    Category{"tutti", "everything there is"},
    Category{"base", "what the library says of itself"},
    Category{"transport", "links between processes, and waiting"},
    Category{"p2p", "messages: matching, protocols, flow control"},
    Category{"select", "algorithms of collectives"},
    Category{"device", "memory of GPUs"},
    Category{"comm", "communicators, and whether ranks call the same"},
    Category{"world", "starting and ending"},
    Category{"bindings", "the interface: argument checks"},
};
constexpr int kMessages = 3;  // the category of all counters and events

const char* name_of(int category) {
  return kCategories[static_cast<std::size_t>(category)].name;
}
std::vector<int> first_numbers(std::size_t count) {
  std::vector<int> all(count);
  std::iota(all.begin(), all.end(), 0);
  return all;
}
std::vector<int> controls_in(int category) {
  std::vector<int> found;
  for (std::size_t i = 0; i < Knobs::rows().size(); ++i)
    if (std::strcmp(Knobs::rows()[i].owner, name_of(category)) == 0)
      found.push_back(static_cast<int>(i));
  return found;
}
std::vector<int> variables_in(int category) {
  return category == kMessages ? first_numbers(variables().size()) : std::vector<int>{};
}
std::vector<int> events_in(int category) {
  return category == kMessages ? first_numbers(event_kinds().size()) : std::vector<int>{};
}
std::vector<int> categories_in(int category) {
  if (category != 0) return {};
  std::vector<int> all = first_numbers(kCategories.size());
  all.erase(all.begin());
  return all;
}

// The first `len` of what `list` finds in a category.
int give_list(int category, int len, int indices[], std::vector<int> (*list)(int)) {
  const Entry entry;
  if (entry.code != MPI_SUCCESS) return entry.code;
  if (!is_index(category, kCategories.size())) return MPI_T_ERR_INVALID_INDEX;
  if (len < 0 || (len > 0 && indices == nullptr)) return MPI_T_ERR_INVALID;
  const std::vector<int> found = list(category);
  std::copy_n(found.begin(), std::min(found.size(), static_cast<std::size_t>(len)), indices);
  return MPI_SUCCESS;
}

}  // namespace

int t_category_get_num(int* num_cat) {
  const Entry entry;
  if (entry.code != MPI_SUCCESS) return entry.code;
  if (num_cat == nullptr) return MPI_T_ERR_INVALID;
  *num_cat = static_cast<int>(kCategories.size());
  return MPI_SUCCESS;
}

int t_category_get_info(int cat_index, char* name, int* name_len, char* desc, int* desc_len,
                        int* num_cvars, int* num_pvars, int* num_categories) {
  const Entry entry;
  if (entry.code != MPI_SUCCESS) return entry.code;
  if (!is_index(cat_index, kCategories.size())) return MPI_T_ERR_INVALID_INDEX;
  put_name(name_of(cat_index), name, name_len);
  put_name(kCategories[static_cast<std::size_t>(cat_index)].about, desc, desc_len);
  put(num_cvars, static_cast<int>(controls_in(cat_index).size()));
  put(num_pvars, static_cast<int>(variables_in(cat_index).size()));
  put(num_categories, static_cast<int>(categories_in(cat_index).size()));
  return MPI_SUCCESS;
}

int t_category_get_index(const char* name, int* cat_index) {
  const Entry entry;
  if (entry.code != MPI_SUCCESS) return entry.code;
  if (name == nullptr || cat_index == nullptr) return MPI_T_ERR_INVALID;
  for (std::size_t i = 0; i < kCategories.size(); ++i) {
    if (std::strcmp(kCategories[i].name, name) != 0) continue;
    *cat_index = static_cast<int>(i);
    return MPI_SUCCESS;
  }
  return MPI_T_ERR_INVALID_NAME;
}

int t_category_get_num_events(int cat_index, int* num_events) {
  const Entry entry;
  if (entry.code != MPI_SUCCESS) return entry.code;
  if (!is_index(cat_index, kCategories.size())) return MPI_T_ERR_INVALID_INDEX;
  if (num_events == nullptr) return MPI_T_ERR_INVALID;
  *num_events = static_cast<int>(events_in(cat_index).size());
  return MPI_SUCCESS;
}

int t_category_get_cvars(int cat_index, int len, int indices[]) {
  return give_list(cat_index, len, indices, &controls_in);
}
int t_category_get_pvars(int cat_index, int len, int indices[]) {
  return give_list(cat_index, len, indices, &variables_in);
}
int t_category_get_events(int cat_index, int len, int indices[]) {
  return give_list(cat_index, len, indices, &events_in);
}
int t_category_get_categories(int cat_index, int len, int indices[]) {
  return give_list(cat_index, len, indices, &categories_in);
}

// They never change.
int t_category_changed(int* update_number) {
  const Entry entry;
  if (entry.code != MPI_SUCCESS) return entry.code;
  if (update_number == nullptr) return MPI_T_ERR_INVALID;
  *update_number = 0;
  return MPI_SUCCESS;
}

}  // namespace tutti::mpi::body
