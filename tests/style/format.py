#!/usr/bin/env python3
"""C++ sources are as clang-format 14 leaves them; skipped where that version is not installed.

  format.py           names the files that are not
  format.py --write   formats them
"""
import shutil
import subprocess
import sys

import tree

VERSION = "14."  # other versions break lines differently
SKIPPED = 77
# Laid out by hand, tables and one-line macros mostly: clang-format would spread them out.
BY_HAND = {"lib/base/check.h", "lib/base/knobs.cc", "lib/base/log.cc", "lib/base/log.h",
           "lib/base/object.h", "lib/base/result.h", "tests/support/catch_main.cc"}


def find_tool():
    for name in ("clang-format-14", "clang-format"):
        tool = shutil.which(name)
        if tool and "version " + VERSION in subprocess.run([tool, "--version"], capture_output=True,
                                                           text=True).stdout:
            return tool
    return None


def main():
    tool = find_tool()
    if tool is None:
        print("skipped: clang-format 14 is not installed")
        sys.exit(SKIPPED)
    paths = [path for path in tree.files(".cc", ".h") if tree.name(path) not in BY_HAND]
    if sys.argv[1:] == ["--write"]:
        subprocess.run([tool, "-i", *map(str, paths)], check=True)
        return
    done = subprocess.run([tool, "--dry-run", "--Werror", *map(str, paths)], capture_output=True, text=True)
    wrong = sorted({line.split(":")[0] for line in done.stderr.splitlines() if "error:" in line})
    tree.finish([f"{name}: not formatted; run tests/style/format.py --write" for name in wrong], len(paths))


main()
