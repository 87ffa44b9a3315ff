#!/usr/bin/env python3
"""Who includes whom: every quoted include crosses rooms only through a door that layers.txt allows.

A room's door is <room>/<room>.h. base is open; other public headers are listed below with a reason.
"""
import re

import tree

# Headers beside the door that others may include, and why.
MORE_DOORS = {
    "wireup/segment.h": "the layout that the daemon, the transports and the delegate share",
    "wireup/protocol.h": "the messages between a rank and its daemon",
    "job/exit_status.h": "the statuses that help prints",
}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def allowed_rooms():
    table = {}
    for line in (tree.ROOT / "lib/layers.txt").read_text().splitlines():
        line = line.split("#")[0].strip()
        if line:
            room, _, others = line.partition(":")
            table[room.strip()] = others.split()
    return table


def room_of(path):
    parts = path.relative_to(tree.ROOT).parts
    if parts[0] == "lib" and len(parts) > 2:
        return parts[1]
    return parts[0] if parts[0] in ("bindings", "launcher") else None


def check(path, table, problems):
    room = room_of(path)
    may = table.get(room)
    if may is None:
        problems.append(f"{tree.name(path)}: room '{room}' is not in lib/layers.txt")
        return
    for included in INCLUDE.findall(path.read_text(errors="replace")):
        other = included.split("/")[0]
        if other not in table or other == room or "/" not in included:
            continue
        if may != ["*"] and other not in may:
            problems.append(f"{tree.name(path)}: {room} may not include {included}")
        is_door = included == f"{other}/{other}.h" or included in MORE_DOORS
        if other != "base" and not is_door:
            problems.append(f"{tree.name(path)}: {included} is not a door of {other}")


def main():
    table = allowed_rooms()
    problems = []
    paths = [path for path in tree.files(".h", ".cc") if room_of(path)]
    for path in paths:
        check(path, table, problems)
    tree.finish(problems, len(paths))


main()
