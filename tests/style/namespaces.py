#!/usr/bin/env python3
"""Every room's names lie in a namespace of its own: lib/<room> in tutti::<room>, launcher/<room> in
tutti::launch::<room>; only base owns names in tutti itself. Two rooms that shared one could define
two types of one name, of which the linker silently keeps one destructor."""
import re

import tree

NAMESPACE = re.compile(r"^(?:inline )?namespace ((?:tutti|\w+)(?:::\w+)*) \{", re.M)
# Names that others define may be announced.
FORWARD = re.compile(r"^namespace [\w:]+ \{\n(?:(?:class|struct) \w+;[^\n]*\n)+\}[^\n]*\n", re.M)
ROOMS = {path.name for path in (tree.ROOT / "lib").iterdir() if path.is_dir()}


def belongs(name, space):
    """Whether the file NAME may put names in SPACE."""
    parts = name.split("/")
    if name.startswith("lib/base/"):
        return space == "tutti" or space.split("::")[1] not in ROOMS | {"launch", "mpi"}
    home = f"tutti::{parts[1]}" if parts[0] == "lib" else f"tutti::launch::{parts[1]}"
    return space == home or space.startswith(home + "::")


def main():
    problems, checked = [], 0
    for path in tree.files(".cc", ".h"):
        name = tree.name(path)
        if not name.startswith(("lib/", "launcher/")) or name.count("/") < 2:
            continue
        checked += 1
        for space in NAMESPACE.findall(FORWARD.sub("", path.read_text(errors="replace"))):
            if space.startswith("tutti") and not belongs(name, space):
                problems.append(f"{name}: namespace {space} is not this room's")
    tree.finish(problems, checked)


main()
