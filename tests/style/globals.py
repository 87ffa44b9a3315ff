#!/usr/bin/env python3
"""globals.py LIBRARY -- below the bindings nothing is global but what this table names: a world is an
object, and eight of them live in the threads of one test. Read off the linked library: what can be written
and lies at a fixed address."""
import re
import shutil
import subprocess
import sys

import tree

SKIPPED = 77
LABEL = "a label of the process for its lines to a person"
MEMORY = "the memory that counted objects lie in, as the heap is"
CONSTANT = "filled when the library is loaded, constant after that"
ALLOWED = {
    "tutti::log::(anonymous namespace)::g_rank": LABEL,
    "tutti::log::(anonymous namespace)::g_explain": LABEL,
    "tutti::log::(anonymous namespace)::g_warnings": LABEL,
    "tutti::log::(anonymous namespace)::g_caller": LABEL,
    "tutti::log::(anonymous namespace)::t_call": LABEL,
    "tutti::slots::range": MEMORY,
    "tutti::slots::(anonymous namespace)::shared": MEMORY,
    "tutti::(anonymous namespace)::kRows": CONSTANT,
    "tutti::kCollectiveRows": CONSTANT,
    "tutti::types::predefined_types": CONSTANT,
    "tutti::types::(anonymous namespace)::predefined_ops": CONSTANT,
    "tutti::types::(anonymous namespace)::kernel_table": CONSTANT,
}
# "0000000000001180 l     O .bss   0000000000000010              tutti::slots::range"
SYMBOL = re.compile(r"^[0-9a-f]+ .{7} \.(?:data|bss|tdata|tbss)\t[0-9a-f]+ +(?:\.hidden )?(tutti::.*)$", re.M)


def main():
    if shutil.which("objdump") is None:
        print("skipped: objdump is not installed")
        sys.exit(SKIPPED)
    table = subprocess.run(["objdump", "--syms", "--demangle", sys.argv[1]], check=True, capture_output=True,
                           text=True).stdout
    names = set(SYMBOL.findall(table))
    below = {name for name in names if not name.startswith("tutti::mpi::")}
    tree.finish([f"{name}: a global below the bindings; make it a member of what owns it" for name in
                 sorted(below - set(ALLOWED))]
                + [f"{name} is allowed and not there" for name, why in sorted(ALLOWED.items())
                   if name not in below and why != CONSTANT], len(names))


main()
