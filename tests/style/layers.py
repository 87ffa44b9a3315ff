#!/usr/bin/env python3
"""Who includes whom: every quoted include crosses rooms only through a door that layers.txt allows.

A room's door is <room>/<room>.h. base is open; other public headers are listed below with a reason.
"""
import re

import tree

# Headers beside the door that others may include, and why.
MORE_DOORS = {
    "wireup/segment.h": "the layout that the daemon, the transports and the delegate share",
    "delegate/gpu_library.h": "collectives of GPU memory, beside the team of a host",
    "comm/gpu/in_streams.h": "collectives that a GPU's library runs in a user's stream, which enqueue puts there",
    "select/on_gpus.h": "who serves calls of GPU memory: learnt from call to call, where choose() is a function",
    "device/cuda/driver.h": "libcuda's functions, for the delegate that works on a GPU, too",
    "device/cuda/current.h": "the same: a context is this thread's for a while",
    "device/cuda/life.h": "the same: whether a context is still the one that it was",
    "topo/gpus.h": "GPUs by their driver's files: of the launcher and tutti-info, and of their tests",
    "topo/gpu_libraries.h": "what CUDA, NVML and NCCL say: of prun --check and tutti-info",
    "topo/nvml.h": "the number of NVLinks: of these, and of --report-links",
    "types/handles.h": "handles that the rooms above give themselves: nobody else needs them",
    "types/runs.h": "what a device keeps of a type; whoever has no device needs none of it",
    "wireup/doorbell.h": "how a rank that sleeps on descriptors is woken, by neighbours and its daemon",
    "model/lines.h": "what a host's ranks take to meet: of whoever plans that, by no table of a job",
    "model/costs.h": "the table of costs, which prun makes and the job segment holds",
    "watch/recorder.h": "what --stats and --trace keep: heavier than the three stores of watch.h, and read by the head",
    "watch/calls.h": "what prun compares of collective calls: written by comm, read by daemon and head",
    "wireup/protocol.h": "the messages between a rank and its daemon",
    "wireup/pmi1_words.h": "what ranks under another launcher read, and prun's server for programs of other MPIs writes",
    "wireup/share_store.h": "the files that ranks share, which their daemon keeps",
    "spawn/installation.h": "where prun and prund find the files beside themselves",
    "spawn/early.h": "a daemon starts while prun reads the machine, before there is a job",
    "spawn/meet.h": "who listens and who joins is decided where the job is described",
    "spawn/slurm.h": "whether a silent host's job is suspended, which the head asks",
    "spawn/ssh_words.h": "what prund and the starter that sends it must agree on",
    "control/terminal.h": "standard streams, written by prun and by a node that shows its own ranks' output",
    "daemon/output.h": "names of files from patterns, filled in by daemons and, for shared files, by the head",
    "daemon/output_file.h": "files of output are opened and written alike by daemons and, shared ones, by the head",
    "daemon/rank_file.h": "what writes a file of output without waiting, for daemons and, shared ones, for the head",
    "daemon/aside.h": "file systems may stand still: daemons look things up by a thread, the head writes shared files so",
    "control/addresses.h": "addresses as text, of hosts and of this machine: heads and daemons compare them",
    "control/far_kernel.h": "whether a silent machine answers, which daemons ask about the way to the head",
    "control/whose.h": "which user has the other end of a connection: asked where nodes meet, and by the PMIx server",
    "control/spawner.h": "who starts daemons: asked by head and daemon, done by spawn",
    "control/messages.h": "one table of messages, which every actor of the launcher reads",
}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def read_table():
    """Room -> rooms it may include. Rooms of the launcher are 'launcher/NAME'."""
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
    if parts[0] == "launcher" and len(parts) > 2:
        return "launcher/" + parts[1]
    return parts[0] if parts[0] == "bindings" else None


def target_of(included, room, table):
    """The room whose header this is, or None when it is no room's (or a file of the own room)."""
    first = included.split("/")[0] if "/" in included else None
    if first is None:
        return None
    if room.startswith("launcher/") and "launcher/" + first in table:
        return "launcher/" + first
    return first if first in table else None


def rooms_allowed(room, table):
    if room.startswith("launcher/"):
        own = ["launcher/" + other for other in table[room] if other != "*"]
        own += [name for name in table if table[room] == ["*"] and name.startswith("launcher/")]
        return own + table["launcher"]
    return list(table) if table[room] == ["*"] else table[room]


def check(path, table, problems):
    room = room_of(path)
    if room not in table:
        problems.append(f"{tree.name(path)}: room '{room}' is not in lib/layers.txt")
        return
    for included in INCLUDE.findall(path.read_text(errors="replace")):
        target = target_of(included, room, table)
        if target is None or target == room:
            continue
        if target not in rooms_allowed(room, table):
            problems.append(f"{tree.name(path)}: {room} may not include {included}")
        name = target.split("/")[-1]
        is_door = included == f"{name}/{name}.h" or included in MORE_DOORS
        if target != "base" and not is_door:
            problems.append(f"{tree.name(path)}: {included} is not a door of {target}")


def unused(table, paths):
    """What the table allows and nobody does: neither an include nor a name of that room's."""
    texts = {}
    for path in paths:
        room = room_of(path)
        for name in {room, room.split("/")[0]} if room.startswith("launcher/") else {room}:
            texts[name] = texts.get(name, "") + path.read_text(errors="replace")
    for room, others in table.items():
        for other in others:
            if other != "*" and not re.search(rf'"{other}/|\b{other}::', texts.get(room, "")):
                yield f"lib/layers.txt: {room} may include {other}, and does not"


def has_cycle(table):
    """A table with a circle would not be layers."""
    done, doing = set(), set()

    def visit(room):
        if room in doing:
            return True
        if room in done or room not in table:
            return False
        doing.add(room)
        prefix = "launcher/" if room.startswith("launcher/") else ""
        found = any(visit(prefix + other) for other in table[room] if other != "*")
        doing.discard(room)
        done.add(room)
        return found

    return any(visit(room) for room in table)


def main():
    table = read_table()
    problems = ["lib/layers.txt: has a circle"] if has_cycle(table) else []
    paths = [path for path in tree.files(".h", ".cc") if room_of(path)]
    for path in paths:
        check(path, table, problems)
    problems += unused(table, paths)
    tree.finish(problems, len(paths))


main()
