// TeamForm: a way to do a call.
#pragma once

#include <cstring>

#include "delegate/shm/chunks.h"
#include "delegate/shm/work.h"

namespace tutti::delegate {

// Each is an object of its team (forms.h). It answers kNotYet where it has to wait, and is called
// again.
class TeamForm {
 public:
  virtual ~TeamForm() = default;
  TeamForm(const TeamForm&) = delete;
  TeamForm& operator=(const TeamForm&) = delete;
  virtual Code go_on(Work& work) = 0;

 protected:
  explicit TeamForm(Members& members)
      : members_(members), size_(members.size()), me_(members.me()) {}
  // Once in a call: this member's vector stands in its entry, for all to read.
  Code say_vector(Work& work) {
    if (work.has_spoken) return Code::ok;
    if (const Code code = members_.claim_entry(); code != Code::ok) return code;
    AreaEntry& mine = members_.entry(me_);
    if (work.bytes > 0) std::memcpy(mine.payload(work.bytes), work.call.send, work.bytes);
    members_.publish(mine, work.call.fingerprint);
    work.has_spoken = true;
    return Code::ok;
  }
  // A member's vector, once it was heard. The own one where the caller has it, if it is `kept`
  // there: the entry's line has gone to whoever looks at it, and would have to be fetched back.
  const std::byte* vector_of(const Work& work, int member, bool is_kept) const {
    return member == me_ && is_kept ? static_cast<const std::byte*>(work.call.send)
                                    : members_.entry(member).payload(work.bytes);
  }
  // Once in a call, from work.member on.
  Code hear_all(Work& work) {
    if (work.has_heard) return Code::ok;
    for (int member = work.member; member < size_; ++member) {
      if (member == me_) continue;
      if (const Code code = members_.hear(member, work.call.fingerprint); code != Code::ok)
          [[unlikely]] {
        work.member = member;
        return code;
      }
    }
    work.has_heard = true;
    work.member = 0;
    return Code::ok;
  }

  Members& members_;
  const int size_, me_;
};

}  // namespace tutti::delegate
