#!/usr/bin/env python3
"""docs/env.md says what the tables of knobs and of rank variables say, and knobs stay few.

The knobs that force algorithms come from the table of collectives, as in the library.

  knobs.py           checks the page, the budget, and that every knob is read by its owner
  knobs.py --write   writes the page anew
"""
import re
import sys

import tree

PAGE = "docs/env.md"
COLLECTIVES = "lib/base/collectives.h"
BUDGET = 60
TEXT = r'"((?:[^"\\]|\\.)*)"'
COLLECTIVE = re.compile(r'CollectiveRow\{Collective::\w+, "\w+", "(TUTTI_\w+)"')
KNOB = re.compile(r"\{" + r",\s*".join([r'"(TUTTI_\w+)"'] + [TEXT] * 3) + r",\s*((?:" + TEXT + r"\s*)+)\}")
ROW = re.compile(r'Row\{\s*(?:wireup::(k\w+)|"(\w+)"),\s*((?:"[^"]*"\s*)+),')

HEAD = """# Variables

This page is written by `tests/style/knobs.py --write` from the tables in `lib/base/knobs.cc`,
`lib/base/collectives.h` and `launcher/daemon/rank_env.cc`; a test keeps it fresh.

## What you may set

Set them with `prun -x NAME=VALUE`, or in the environment prun is started in. A misspelt one is
named with the nearest known name. Sizes take `k`, `M` and `G` (powers of 1024), at most 1048576G.

| variable | unit | default | room | what it does |
| --- | --- | --- | --- | --- |
"""
MIDDLE = """
`TUTTI_JOIN_KEY`, 16 bytes or more, is the key by which nodes that are started one by one know each
other, and so do ranks on several hosts under a torchrun that is not ours. prun gives it to no rank.
`TUTTI_CC` and `TUTTI_CXX` name the compilers of `mpicc` and `mpicxx`.

## What every rank sees

[launcher.md](launcher.md) says which ranks get `OMP_NUM_THREADS`, `NCCL_SOCKET_IFNAME`, `CUDA_VISIBLE_DEVICES` and
srun's variables besides.

| variable | meaning |
| --- | --- |
"""


def joined(literals):
    return "".join(re.findall(TEXT, literals)).replace("|", "\\|")


def knobs():
    text = (tree.ROOT / "lib/base/knobs.cc").read_text()
    rows = [(m[1], m[2], m[3], m[4], joined(m[5])) for m in KNOB.finditer(text)]
    collectives = (tree.ROOT / COLLECTIVES).read_text()
    forcing = COLLECTIVE.findall(collectives)
    if len(forcing) != collectives.count("CollectiveRow{"):
        sys.exit(f"{COLLECTIVES}: rows that could not be read here")
    return rows + [(name, "name", "", "select", "forced algorithm (docs/algorithms.md)")
                   for name in dict.fromkeys(forcing)]


def rank_variables():
    source = tree.ROOT / "launcher/daemon/rank_env.cc"
    constants = dict(re.findall(r'(k\w+Variable) = "(\w+)"',
                                (tree.ROOT / "lib/wireup/protocol.h").read_text()))
    if not source.exists():
        return []
    return [(constants.get(m[1], m[1]) if m[1] else m[2], joined(m[3]))
            for m in ROW.finditer(source.read_text())]


def page():
    of_ranks = {name for name, _ in rank_variables()}  # by options of prun
    lines = [f"| `{name}` | {unit} | {fallback or '(empty)'} | {owner} | {why} |\n"
             for name, unit, fallback, owner, why in knobs() if name not in of_ranks]
    rows = [f"| `{name}` | {meaning} |\n" for name, meaning in rank_variables()]
    return HEAD + "".join(lines) + MIDDLE + "".join(rows)


def unread(names):
    """Knobs that no source but the table mentions: a row without effect is a lie."""
    sources = [path.read_text(errors="replace") for path in tree.files(".cc", ".h")
               if tree.name(path).startswith(("lib/", "launcher/", "bindings/"))
               and tree.name(path) != "lib/base/knobs.cc"]
    text = "\n".join(sources)
    return [name for name in names if name not in text]


def main():
    target = tree.ROOT / PAGE
    if sys.argv[1:] == ["--write"]:
        target.write_text(page())
        return
    rows = knobs()
    problems = []
    written = (tree.ROOT / "lib/base/knobs.cc").read_text().count('{"TUTTI_')
    plain = sum(not row[4].startswith("forced algorithm (") for row in rows)
    if plain != written:
        problems.append(f"lib/base/knobs.cc: {written} rows, of which {plain} could be read here")
    if len(rows) > BUDGET:
        problems.append(f"lib/base/knobs.cc: {len(rows)} knobs, the budget is {BUDGET}")
    for name in unread([row[0] for row in rows]):
        problems.append(f"lib/base/knobs.cc: {name} is read nowhere")
    if not target.exists() or target.read_text() != page():
        problems.append(f"{PAGE}: not fresh; run tests/style/knobs.py --write")
    tree.finish(problems, len(rows))


main()
