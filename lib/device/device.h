// device: GPUs whose memory users' buffers may lie in, as types::Device has them.
//
// Owner: the world, beside its endpoint, whose requests end before this does. One thread at a time,
// the world's gate held. Nothing here loads a vendor's library, nor initialises it but for who asks
// whether there are devices: a program that has a device's pointer has done both.
#pragma once

#include <memory>

#include "base/knobs.h"
#include "types/types.h"

namespace tutti::device {

// Null: this process can have no GPU, or (TUTTI_GPU_SUPPORT) shall have none.
std::unique_ptr<types::Vendor> find_gpus(const Knobs& knobs);
// Whether this host has a GPU's driver; its ranks answer alike.
bool has_driver();

}  // namespace tutti::device
