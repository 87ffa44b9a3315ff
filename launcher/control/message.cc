// What every message can do, for all kinds of them (messages.h).
#include "control/messages.h"

namespace tutti::launch::control {

Message::Message(const Message& other) = default;
Message::Message(Message&& other) noexcept = default;
// By way of a copy: the variant's own would be compiled for every pair of kinds.
Message& Message::operator=(const Message& other) {
  return *this = Message(other);
}
Message& Message::operator=(Message&& other) noexcept = default;
Message::~Message() = default;

}  // namespace tutti::launch::control
