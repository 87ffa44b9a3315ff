// What a GPU's driver that does not answer says about the program.
#pragma once

namespace tutti {

// Why our question has no answer while a call in a stream has not ended, and what to do.
inline constexpr const char* kSilentDriver =
    "the program seems to be in cudaFree, cudaFreeHost, a plain cudaMemcpy to the host or the "
    "first launch of a kernel, which wait for streams inside of the driver and let nobody else "
    "launch anything; behind a call in a stream that does not end. Call cudaStreamSynchronize for "
    "the stream before, or use cudaFreeAsync and cudaMemcpyAsync";

}  // namespace tutti
