#!/usr/bin/env python3
"""Every option of every launcher that is installed, tried with prun under that launcher's name.

  options_test.py PRUN DOCUMENT BUILD      BUILD may hold a torch (tests/torch makes one)

An option counts as taken when a line of lines/ shows its effect. The table of counts is printed, and
stands in DOCUMENT: TUTTI_UPDATE_GOLDEN=1 writes the rows of what is installed here. Rows are named by
the launcher's version; of another version nothing is known there."""
import os
import re
import shlex
import sys
import tempfile

import fixtures
import listing
import rows
from checks import check, result, run

PRUN, DOCUMENT, BUILD = (os.path.abspath(path) for path in sys.argv[1:4])
DIALECTS = {"torchrun": "torchrun", "torch.distributed.launch": "torchrun", "srun": "srun"}
COLUMNS = ("acts", "as always", "accepted, noted", "refused", "unknown")
START = "<!-- dialects: TUTTI_UPDATE_GOLDEN=1 writes what follows -->\n"
HEAD = ("| launcher | options | taken | prun does so anyway | accepted without effect | refused with a reason | unknown |\n"
        "| --- | --- | --- | --- | --- | --- | --- |\n")
# Words that an option takes, where a 1 is none; with what must stand beside it.
WORDS = {"app": "appfile", "configfile": "config", "am": "tuned", "tune": "tuned", "bind-to": "core", "map-by": "slot",
         "rank-by": "slot", "m": "block", "distribution": "block", "display": "map", "output": "tag", "stdin": "0", "i": "0",
         "input": "0", "rankfile": "alone", "rf": "alone", "hostfile": "here", "machinefile": "here", "default-hostfile": "here",
         "f": "here", "F": "here", "nodefile": "here", "machine": "here", "launcher": "fork", "bootstrap": "fork", "host": "aa",
         "H": "aa", "hosts": "aa", "hosts-group": "aa", "w": "aa", "nodelist": "aa", "x": "NAME=1", "exclude": "bb -w aa,bb",
         "jobid": "12", "cpu-bind": "cores", "binding": "core", "numa-binding": "none", "mem-bind": "local", "membind": "local",
         "forward-signals": "SIGUSR1", "rankmap": "0", "usize": "9", "cpu-list": fixtures.FIRST, "cpu-set": fixtures.FIRST,
         "iface": "lo", "set-env": "A=1", "nolocal": "-H aa", "skip-launch-node": "-H aa", "ppr": "1:node", "t": "1", "time": "1",
         "multi-prog": "programs", "help": "", "h": "", "rdzv-backend": "c10d", "rdzv-endpoint": "localhost:0",
         "rdzv-conf": "timeout=9", "master-port": "29500", "redirects": "1", "r": "1", "tee": "1", "local-ranks-filter": "0",
         "nproc-per-node": "1", "print-completion": "bash", "nnodes": "1", "export": "ALL", "node-rank": "0", "cpus-per-proc": "1"}
UNDER = {("srun", "x"): "bb -w aa,bb", ("mpirun", "output-filename"): "out", ("srun", "output"): "out", ("srun", "H"): "",
         ("torchrun", "m"): "", ("torchrun", "t"): "1"}


class Options:
    """prun's own table of options."""
    def __init__(self):
        self.rows = []
        for line in run(PRUN, "--print-page", "options").stdout.splitlines()[2:]:
            names, words, effect, _ = re.split(r"(?<!\\)\|", line)[1:5]
            whose = re.search(r"\((\w+)\)", names)
            self.rows.append({"names": [name.lstrip("-") for name in re.findall(r"`(-[^`]*)`", names)],
                              "words": words.strip(), "effect": effect.strip(), "whose": whose[1] if whose else ""})

    def find(self, tool, spelling):
        """The row that a spelling means under a launcher's name, as the parser finds it."""
        name = spelling.lstrip("-").replace("_", "-")
        dialect = DIALECTS.get(tool, "mpiexec" if tool.startswith("mpiexec") else "")
        known = [row for row in self.rows if name in row["names"]]
        known.sort(key=lambda row: 0 if row["whose"] == dialect and dialect else 1 if not row["whose"] else 2)
        return known[0] if known else None


def words_of_options(line):
    """What stands before each program of a line."""
    found, inside = [], False
    for word in shlex.split(line):
        inside = word != ":" and (inside or word.removeprefix("./") in fixtures.PROGRAM_NAMES)
        if not inside:
            found.append(word)
    return found


def seen(options):
    """The rows that some line of lines/ names, as numbers of objects."""
    found = set()
    for tool, line, _ in rows.all_rows():
        for word in words_of_options(line):
            short = re.match(r"-[A-Za-z]\d*$", word)
            for spelling in (word.partition("=")[0], short[0][:2] if short else "", word[:2] if tool == "srun" else ""):
                if spelling.startswith("-") and (row := options.find(tool, spelling)):
                    found.add(id(row))
    return found


def is_told(done, spelling):
    return done.returncode == 2 and f"{spelling} is not supported: " in done.stderr


def tried(folder, called, spelling, row):
    """What happens to `prun OPTION`, started under the launcher's name: nothing is wrong, or what is."""
    name = spelling.lstrip("-").replace("_", "-")
    needed = UNDER.get((called, name), WORDS.get(name))
    count = 0 if row["words"].startswith("[") or not row["words"] else len(row["words"].split(" "))
    words = shlex.split(needed) if needed is not None else ["1"] * count
    program = [] if name in ("app", "configfile", "multi-prog") else ["-n", "1"] if called != "torchrun" else ["--no-python"]
    program += [] if name in ("app", "configfile", "multi-prog") else ["true"]
    done = run(f"{folder}/bin/{called}", "--dry-run", spelling, *words, *program, cwd=folder,
               env=fixtures.environment(folder) | {"SLURM_JOB_ID": "12"})
    if row["effect"] == "refused":
        return None if is_told(done, spelling) else f"is not refused: {done}"
    return None if done.returncode == 0 else f"{done}"


def counted(folder, called, options, lines, listed):
    """How many options of a launcher there are of each kind."""
    counts = dict.fromkeys(COLUMNS, 0)
    for names, words in listed:
        found = [row for name in names if (row := options.find(called, name))]
        unknown = [name for name in names if options.find(called, name) is None]
        check(f"{called} {' '.join(names)}", len({row["effect"] for row in found}) == 1, f"unknown {unknown}, {found}")
        check(f"{called} {' '.join(names)} are all known", not unknown, unknown)
        if unknown:
            counts["unknown"] += 1
            continue
        row = found[-1]
        counts[row["effect"]] += 1
        wrong = [f"{name}: {what}" for name, row in zip(names, found) if (what := tried(folder, called, name, row))]
        check(f"{called} {names[-1]} is {row['effect']}", not wrong, "\n".join(wrong))
        if row["effect"] == "acts":
            check(f"a line shows what {names[-1]} does", any(id(row) in lines for row in found))
        takes = 0 if not row["words"] else len(row["words"].split(" "))
        optional = row["words"].startswith("[") or row["effect"] == "refused"
        check(f"{called} {names[-1]} takes as many words", words is None or optional or words == takes,
              f"{words}, here {takes}")
    return counts


def written(table):
    """The document's rows and these; a row of the same launcher and version must be the same."""
    with open(DOCUMENT) as file:
        text = file.read()
    head, found, body = text.partition(START)
    check("the document has its mark", bool(found))
    known = {line.split("|")[1].strip(): line for line in body.splitlines() if line.startswith("| ")}
    known = {name: line for name, line in known.items() if name not in ("launcher", "---")}
    if os.environ.get("TUTTI_UPDATE_GOLDEN"):
        with open(DOCUMENT, "w") as file:
            file.write(head + START + HEAD + "".join(f"{line}\n" for line in (known | table).values()))
        return
    for name, line in table.items():
        if name in known:
            check(f"the document's counts of {name}", known[name] == line, f"{known[name]}\n{line}")
        else:
            print(f"the document has no counts of {name}")


def main():
    options, table = Options(), {}
    lines = seen(options)
    with tempfile.TemporaryDirectory(prefix="dialects-") as folder:
        fixtures.fill(folder, PRUN)
        for name, called, program, reader, manual in listing.launchers(folder, BUILD):
            if not program:
                print(f"skipped: {name} is not installed")
                continue
            listed, version = reader(program), listing.version(program, folder)
            check(f"{name} prints its options", len(listed) >= 20, listed)
            counts = counted(folder, called, options, lines, listed)
            alone = " (its help alone)" if manual and not listing.from_manual(manual) else ""
            cells = [f"{name} {version}".strip() + alone, str(len(listed)), *(str(counts[column]) for column in COLUMNS)]
            table[cells[0]] = f"| {' | '.join(cells)} |"
    written(table)
    print(HEAD + "\n".join(table.values()))
    result()


main()
