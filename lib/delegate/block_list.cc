// Whose memory the blocks of a v form lie in.
#include "delegate/delegate.h"

namespace tutti::delegate {

types::Device* BlockList::owner_of(std::size_t at) const {
  if (owners.empty()) {
    std::vector<const void*> places(counts.size());
    for (std::size_t i = 0; i < places.size(); ++i) {
      const Count unit = types.empty() ? type->extent() : 1;
      const types::Datatype& each = type_of(i);
      if (bytes(static_cast<int>(i)) > 0)
        places[i] = static_cast<std::byte*>(data) + displs[i] * unit + each.true_lower_bound();
    }
    owners.resize(places.size());
    devices->owners_of(places, owners);
    for (std::size_t i = 0; data == nullptr && i < places.size(); ++i) {
      const Count unit = types.empty() ? type->extent() : 1;
      if (places[i] != nullptr)
        owners[i] = devices->owner_of_parts(types::Buffer::whole(
            static_cast<std::byte*>(nullptr) + displs[i] * unit, counts[i], type_of(i)));
    }
  }
  return owners[at];
}

}  // namespace tutti::delegate
