// What stands before each function that programs call and that is written by hand.
#pragma once

#define TUTTI_EXPORTED extern "C" [[gnu::visibility("default")]]
