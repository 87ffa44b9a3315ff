#!/usr/bin/env python3
"""Users' memory is touched by copy, pack, unpack and fold of types only: it may be a device's.

In the rooms that users' buffers pass through, each line that copies bytes or folds elements itself is
counted here, with what makes sure that it meets the host's memory. A new one is a question to answer.
"""
import re

import tree

ROOMS = ("lib/p2p/", "lib/engine/", "lib/comm/")  # delegates: comm hands them the host's memory, or packs
TOUCHES = re.compile(r"\b(?:memcpy|memmove|stream_copy|copy_n|kernel|widen|narrow)\s*\("
                     r"|\bstd::copy\s*\(|(?:->|\.)fold(?:_right)?\s*\(")
ONE_RUN = re.compile(r"\bis_one_run\s*\(")
# Who may ask for the place of a message without asking whose memory it is.
MAY_ASK = ("lib/types/", "lib/engine/memory.cc", "lib/device/cuda/", "lib/comm/gpu/translate.cc",
           "lib/comm/gpu/past_team.cc", "lib/p2p/device_get.cc")

# File: (lines, why they meet the host's memory only).
ALLOWED = {
    "lib/p2p/deliver.cc": (1, "place() and is_contiguous() decide before"),
    "lib/p2p/kept.cc": (1, "a kept message is ours"),
    "lib/p2p/data.cc": (1, "on_data asks is_contiguous()"),
    "lib/p2p/itself.cc": (1, "is_contiguous(), of both sides"),
    "lib/p2p/copies.cc": (1, "into a bounce buffer"),
    "lib/p2p/partitioned.cc": (1, "what a kept introduction says"),
    "lib/p2p/endpoint.cc": (1, "the core's, which is a request"),
    "lib/engine/run.cc": (3, "fold() is for steps of which is_on_device() says no; the other is a request"),
    "lib/comm/widened.cc": (4, "asked for their device first; else a copy in scratch"),
}


def code(text):
    return (line.split("//")[0] for line in text.splitlines())


def main():
    problems = []
    paths = tree.files(".cc", ".h")
    for path in paths:
        name = tree.name(path)
        lines = list(code(path.read_text(errors="replace")))
        if name.startswith("lib/") and not name.startswith(MAY_ASK):
            problems += [f"{name}:{number}: is_one_run() does not say whose memory it is; is_contiguous() does"
                         for number, line in enumerate(lines, 1) if ONE_RUN.search(line)]
        if not name.startswith(ROOMS) or name.endswith(".h"):
            continue
        found = [number for number, line in enumerate(lines, 1) if TOUCHES.search(line)]
        allowed, _ = ALLOWED.get(name, (0, ""))
        if len(found) != allowed:
            problems.append(f"{name}: lines {found} copy or fold by themselves, {allowed} are known: is "
                            f"it the host's memory? (types::copy, pack and unpack ask; {tree.name(tree.ROOT / 'tests/style/touch.py')})")
    tree.finish(problems, len(paths))


main()
