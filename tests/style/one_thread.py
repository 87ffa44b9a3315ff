#!/usr/bin/env python3
"""What a room's meson.build lists as one_thread is left out under the thread sanitizer: no thread begins there."""
import re

import tree

LIST = re.compile(r"one_thread = files\((.*?)\)", re.S)
THREADS = re.compile(r"std::j?thread\b|std::async|pthread_create|\b(?:in_ranks|run_ranks|run_team)\(|<(?:thread|future)>")


def main():
    problems, checked = [], 0
    for path in (tree.ROOT / "tests/unit").glob("*/meson.build"):
        for listed in LIST.findall(path.read_text()):
            for source in re.findall(r"'([^']+)'", listed):
                checked += 1
                if found := THREADS.search((path.parent / source).read_text()):
                    problems.append(f"{tree.name(path.parent / source)} has threads ({found[0]}): "
                                    "it is no source of one_thread")
    tree.finish(problems, checked)


main()
