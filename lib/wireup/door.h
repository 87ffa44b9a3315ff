// The rank's side of its daemon's door (protocol.h). Private to wireup.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "wireup/protocol.h"

namespace tutti::wireup {

// How long a door, and who answers there, is waited for.
inline constexpr int kDoorPatienceS = 60;

struct Entered {
  UniqueFd segment;
  UniqueFd control;
};

// Asks for the descriptors of a rank of this host, with the key that its environment holds.
Result<Entered> enter_door(const std::string& path, const std::string& key, int local,
                           DoorWish wish);

// What a rank shows at a door, and must be shown.
struct DoorSecrets {
  std::array<std::uint8_t, kDoorSecretBytes> own, theirs;
};
struct DoorTold {
  UniqueFd line, fd;  // the connection, and what came along
  std::string body;
};
// Share and take, at the door of a daemon.
struct DoorWay {
  std::string path, key;
  int local;
  int patience_s = kDoorPatienceS;
};
Result<DoorTold> ask_daemon(const DoorWay& way, DoorWish wish, std::string_view body, int fd);
// The same over a connection to whoever shares. Errors are not whole sentences.
Result<DoorTold> ask_over(UniqueFd line, const DoorSecrets& secrets, DoorAsk ask,
                          std::string_view body, int fd, int patience_s = kDoorPatienceS);

}  // namespace tutti::wireup
