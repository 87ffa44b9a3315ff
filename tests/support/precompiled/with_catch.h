// What every test of ours reads: see tests/meson.build.
#pragma once
#include "base/precompiled/header/std.h"
#include "catch.h"
