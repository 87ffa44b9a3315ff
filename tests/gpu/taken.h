// taken: a stream that another library than the program has made.
#pragma once

#include <cuda.h>

CUstream stream_of_a_library();
