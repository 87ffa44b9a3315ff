// Catch2, the part that v2 and v3 have in common. Tests include this, never Catch2 itself.
#pragma once
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;  // global in v2
#else
#include <catch2/catch.hpp>
#endif
