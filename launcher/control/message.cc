// What every message can do, for all kinds of them (messages.h).
#include "control/messages.h"

namespace tutti::launch::control {

Message::Message(const Message& other) = default;
Message::Message(Message&& other) noexcept = default;
Message& Message::operator=(const Message& other) = default;
Message& Message::operator=(Message&& other) noexcept = default;
Message::~Message() = default;

}  // namespace tutti::launch::control
