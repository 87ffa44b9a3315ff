// ptx: the compiled kernels, which embed.py makes a source of.
#pragma once

namespace tutti::device::cuda {

extern const char kPtxRows[], kPtxIntegers[], kPtxFloats[], kPtxPlaces[];

}  // namespace tutti::device::cuda
