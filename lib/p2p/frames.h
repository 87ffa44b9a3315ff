// frames: who handles which kind of frame. A room that sends frames of its own over p2p's links
// (windows, files) registers its kinds here and is told of what comes; p2p registers its own too.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"
#include "transport/transport.h"

namespace tutti::p2p {

// Kinds [first, first + count) of FrameHeader::kind. 0 is nobody's.
struct Kinds {
  std::uint8_t first;
  std::uint8_t count;
};
inline constexpr Kinds kOwnKinds{1, 31};  // p2p's (wire.h); other rooms' come behind them

// What a room does with frames of its kinds. Called inside progress and try_post: it may change its
// own state and nothing else; frames in answer are posted afterwards. Nothing in a header is to be
// trusted but `from`.
class FrameHandler {
 public:
  virtual ~FrameHandler() = default;
  // As transport::Sink says of them. False ends the link with that peer.
  virtual bool on_frame(int from, const transport::FrameHeader& header,
                        std::span<std::byte> payload) = 0;
  virtual std::byte* place(int /*from*/, const transport::FrameHeader& /*header*/,
                           std::size_t /*bytes*/) {
    return nullptr;
  }
  // No frame comes from there or arrives there any more. Once a peer. (Ready: no
  // handler has need of it yet.)
  virtual void on_peer_lost(int /*peer*/, Code /*why*/) {}
};

class FrameTable {
 public:
  // The handler stays until remove(). Errors: there are no such kinds, some of them are taken, or
  // the handler has others.
  Result<void> add(Kinds kinds, FrameHandler& handler) {
    const std::size_t end = std::size_t{kinds.first} + kinds.count;
    if (kinds.first == 0 || kinds.count == 0 || end > rows_.size())
      return fail(Code::intern, "there are no " + name_of(kinds));
    for (std::size_t kind = 1; kind < rows_.size(); ++kind) {
      const bool is_wanted = kind >= kinds.first && kind < end;
      if (rows_[kind] == &handler || (is_wanted && rows_[kind] != nullptr))
        return fail(Code::intern, name_of(kinds) + " cannot be registered: kind " +
                                      std::to_string(kind) + " is taken");
    }
    for (std::size_t kind = kinds.first; kind < end; ++kind) rows_[kind] = &handler;
    return {};
  }
  // Its kinds are unknown from now on: peers that go on sending them are broken off with. (Ready,
  // not called yet.)
  void remove(const FrameHandler& handler) {
    for (FrameHandler*& row : rows_)
      if (row == &handler) row = nullptr;
  }
  // Null: nobody sends such frames.
  FrameHandler* find(std::uint8_t kind) const { return rows_[kind]; }
  // Calls each handler once.
  template <class Call>
  void each(const Call& call) const {
    for (std::size_t kind = 1; kind < rows_.size(); ++kind)  // one handler's kinds lie together
      if (rows_[kind] != nullptr && rows_[kind] != rows_[kind - 1]) call(*rows_[kind]);
  }

 private:
  static std::string name_of(Kinds kinds) {
    return "kinds of frames " + std::to_string(kinds.first) + " to " +
           std::to_string(kinds.first + kinds.count - 1);
  }
  std::array<FrameHandler*, 256> rows_{};
};

}  // namespace tutti::p2p
