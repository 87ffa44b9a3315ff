// The job in the words of PMIx. Inside the room only.
#pragma once

#include <pmix_server.h>

#include <string>
#include <vector>

#include "control/messages.h"

namespace tutti::launch::pmix {

// A growing list of PMIx facts; values are copied in.
class InfoList {
 public:
  void add(const char* key, const std::string& text);
  void add(const char* key, std::uint32_t number);
  void add_rank(const char* key, pmix_rank_t rank);
  void add_short(const char* key, std::uint16_t number);
  void add_list(const char* key, InfoList list);
  pmix_info_t* data() { return all_.data(); }
  std::size_t size() const { return all_.size(); }

 private:
  void add_value(const char* key, const void* value, pmix_data_type_t type);
  std::vector<pmix_info_t> all_;
};

std::string name_of_job(const control::ServeJob& job);
// Everything that clients may ask about the job, its hosts and its ranks.
InfoList facts_of(const control::ServeJob& job, const std::string& folder);

}  // namespace tutti::launch::pmix
