// Exit statuses by which a rank tells its launcher why it ends the job. launcher/status documents
// them with all others.
#pragma once

namespace tutti {

inline constexpr int kNoResourcesStatus = 212;  // it lacks what it cannot go on without
inline constexpr int kMismatchStatus = 214;     // ranks called collectives that do not match
inline constexpr int kLinkChangedStatus = 215;  // what arrived over a link is not what was sent

}  // namespace tutti
