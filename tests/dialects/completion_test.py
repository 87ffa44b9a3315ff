#!/usr/bin/env python3
"""What bash offers after a part of a command line. Usage: completion_test.py PRUN"""
import os
import re
import shlex
import sys
import tempfile

import fixtures
from checks import check, result, run

PRUN = os.path.abspath(sys.argv[1])
# As bash calls it, with the words it has cut.
ASK = """source "$1"
COMP_LINE=$2 COMP_POINT=${#2}
shift 2
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
_prun
printf '%s\\n' "${COMPREPLY[@]}"
"""
LINES = (("prun -np 2 ./app in", {"input.txt"}), ("prun -np 2 ./app ", {"input.txt", "app", "ask", "page"}),
         ("prun -np 2 ./app --ho", set()), ("prun --hostf", {"--hostfile"}), ("prun -np 2 --hostfile in", {"input.txt"}),
         ("prun -H a:2,b:2 --map-by n", {"node", "numa"}), ("prun ./app : --rankf", {"--rankfile"}),
         ("prun -x A --genv B c ./app in", {"input.txt"}), ("prun -v --timeout=3 ./app in", {"input.txt"}),
         ("prun --bind-to co", {"core"}), ("prun --bind-to=co", {"core"}), ("prun --rank-by=", {"slot", "node", "fill", "span"}),
         ("prun --help pl", {"placement"}), ("prun --print-page f", {"fish"}), ("prun ./app : -np 1 ./app in", {"input.txt"}))


def main():
    with tempfile.TemporaryDirectory(prefix="dialects-") as folder:
        for name, text in (("input.txt", ""), ("app", ""), ("ask", ASK), ("page", run(PRUN, "--print-page", "bash").stdout)):
            with open(f"{folder}/{name}", "w") as file:
                file.write(text)
        for line, offered in LINES:
            words = [part for word in shlex.split(line) for part in re.split("(=)", word) if part]
            words += [""] if line.endswith(" ") else []
            done = run("bash", "ask", "page", line, *words, cwd=folder, env=fixtures.environment(folder))
            check(f"after '{line}'", set(done.stdout.split()) == offered and done.stderr == "", done)
    result()


main()
