#!/usr/bin/env python3
"""What `rows` keeps and divides, on a machine and libraries that are played: no program runs.

The machine has two states; in one of them everything takes ten times as long as in the other. Within a state we take
half of the best peer's time, so a ratio across states would be 5 or 0.05.
"""
import argparse
import importlib.machinery
import importlib.util
import pathlib
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
loader = importlib.machinery.SourceFileLoader("rows", str(HERE / "rows"))
rows = importlib.util.module_from_spec(importlib.util.spec_from_loader("rows", loader))
loader.exec_module(rows)

NEAR, APART = 0.06, 0.27
US = {"tutti": 1.0, "peer": 2.0, "other": 3.0, "copy": 0.5}  # while cores are near; ten times as long apart


class Played:
    variant_of, environment = None, {}

    def __init__(self, name):
        self.name = name

    def program(self, name):
        return name

    def command(self, *_, **__):
        return [self.name]


class Machine:
    """`lines` says how long the line takes at each look, the last of them for ever; `fails` which runs of whom fail."""

    def __init__(self, lines, fails=()):
        self.lines, self.fails, self.made = list(lines), set(fails), []

    def measure(self, command, *_, **__):
        if command[0] == "cacheline":
            return {"results": [{"median_us": self.lines.pop(0) if len(self.lines) > 1 else self.lines[0]}]}
        who = "copy" if "copy" in command else command[0]
        self.made.append(who)
        if (who, self.made.count(who)) in self.fails:
            raise rows.runs.Failed("played")
        us = US[who] * (1 if self.lines[0] == NEAR else 10)
        return {"library": who + " 1.2.3", "machine": {}, "results": [{"bytes": 8, "median_us": us, "verified": True}]}


def rows_on(machine, rounds):
    options = argparse.Namespace(libraries="tutti", build="", work=".", groups="messages", rounds=rounds, min_time="1",
                                 longest=1, cold=False)
    rows.known.made = lambda *_: ([Played("tutti"), Played("peer"), Played("other")], [])
    rows.runs.measure = machine.measure
    rows.wait_for_quiet = lambda: True
    rows.GROUPS = {"messages": [("latency", 2, False, "8")]}
    every = rows.Rows(options)
    return every, every.run()


def check(is_so, what):
    if not is_so:
        sys.exit(f"rows: {what}")


def main():
    _, found = rows_on(Machine([NEAR]), rounds=3)
    check(len(found) == 1 and found[0]["ratio"] == 0.5 and found[0]["best"] == "peer", "the plain case")
    check(found[0]["of_limit"] == 2.0, "the limit is the copy of the state")

    every, found = rows_on(Machine([NEAR], fails={("peer", 1)}), rounds=3)
    kept = next(iter(every.seen.values()))[0]["peer"]
    check(set(kept) == {0, 1, 2} and found[0]["ratio"] == 0.5, "who failed has another turn in its round")

    # A round in each state.
    _, found = rows_on(Machine([NEAR] * 9 + [APART]), rounds=2)
    check([row["ratio"] for row in found] == [0.5, 0.5], "a ratio is of one state")
    check([row["of_limit"] for row in found] == [2.0, 2.0], "and so is a limit")

    # It changes before the copy, of which the first state has no figure then.
    _, found = rows_on(Machine([NEAR] * 6 + [APART]), rounds=1)
    check([row["of_limit"] for row in found] == [None], "a limit that was not measured is none")

    # It changes while ours runs: that run is not kept, and made again.
    machine = Machine([NEAR, APART])
    every, found = rows_on(machine, rounds=1)
    check(every.states.changes == 1 and machine.made[:3] == ["tutti", "tutti", "peer"], "a run across two states counts")
    check(len(found) == 1 and found[0]["us"] == 10.0, "what was measured across two states is kept")

    # It changes after ours ran: who lacks a figure in the new state gets a turn there.
    machine = Machine([NEAR] * 2 + [APART])
    _, found = rows_on(machine, rounds=1)
    check(machine.made == ["tutti", "peer", "other", "copy", "tutti"], f"nobody was made up for: {machine.made}")
    check(len(found) == 1 and found[0]["ratio"] == 0.5, "the row of the new state is missing")
    print("rows: figures of rounds and states are kept apart")


if __name__ == "__main__":
    main()
