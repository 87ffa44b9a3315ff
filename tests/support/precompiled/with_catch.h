// What every test of ours reads: see tests/meson.build.
#pragma once
#include "catch.h"
#include "std.h"
