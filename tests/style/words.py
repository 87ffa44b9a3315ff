#!/usr/bin/env python3
"""Words that do not belong in the tree: build machines' paths, registries, unfiled promises."""
import re

import tree

RULES = [
    (re.compile(r"/wor[k]/(main|wt|shared|\.)"), "a path of some build machine"),
    (re.compile(r"https?://[^\s)]*(debian\.or[g]|pyp[i]\.|pythonhoste[d])"), "the host of a package registry"),
    (re.compile(r"\b(TOD[O]|FIXM[E]|XX[X])\b(?!\(#\d+\))"), "a promise without an issue: TODO(#123)"),
    (re.compile(r"^(<{7} |>{7} |={7}$)"), "a merge marker"),
]
GETENV = re.compile(r"(?<![\w.>])(std::|::)?getenv\s*\(\s*\"")
# Who may read the environment.
MAY_READ_ENVIRONMENT = ("lib/base/knobs.cc", "lib/wireup/",
                        "lib/transport/ucx/",  # UCX's own variables: a user's choice stands
                        "lib/device/cuda/",  # CUDA's own: how many queues a process has
                        "lib/delegate/nccl/",  # NCCL's own: what it takes for a host
                        "launcher/prun/", "launcher/prund/", "launcher/pmix/main.cc",
                        "tests/", "benchmarks/", "launcher/cli/", "launcher/daemon/rank_env.cc")
CODE = (".cc", ".h", ".py", ".sh", ".build", ".txt", ".md", ".yml", ".toml")


def main():
    problems = []
    paths = tree.files(*CODE)
    for path in paths:
        name = tree.name(path)
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            for rule, why in RULES:
                if rule.search(line):
                    problems.append(f"{name}:{number}: {why}")
            if name.endswith((".cc", ".h")) and not name.startswith(MAY_READ_ENVIRONMENT):
                if GETENV.search(line):
                    problems.append(f"{name}:{number}: reads the environment; knobs.cc does that")
    tree.finish(problems, len(paths))


main()
