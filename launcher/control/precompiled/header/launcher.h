// What nearly every file of the launcher includes, compiled once for all of them: the standard
// library's part (lib/base/precompiled) and the messages, whose templates take a quarter of a
// second to read. Files still name what they use.
#include "base/clock.h"
#include "base/file.h"
#include "base/precompiled/header/std.h"
#include "base/result.h"
#include "base/text.h"
#include "base/unique_fd.h"
#include "control/control.h"
#include "control/terminal.h"
