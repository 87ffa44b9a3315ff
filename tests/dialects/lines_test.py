#!/usr/bin/env python3
"""Lines from launchers' manuals and tutorials, and what is seen of them. Usage: lines_test.py PRUN [TEXT]

Only the lines that hold TEXT, where it is given. A row of lines/ is: the name prun is called by, the
line, its effects. In a line NAME=VALUE in front sets a variable, `< FILE` at the end is its input,
{folder} is the folder it is typed in, {first} the first processor that may be used,
{port} a port that is free."""
import os
import re
import shlex
import subprocess
import sys
import tempfile

import fixtures
import rows
from checks import check, result  # fixtures.py has said where it is
from effects import Effect
from jobs import LIMIT_S, free_port


def words_of(line, folder):
    """Variables, words and the input's name."""
    port = str(free_port()) if "{port}" in line else ""
    words = [word.replace("{folder}", folder).replace("{first}", fixtures.FIRST)
             .replace("{port}", port) for word in shlex.split(line)]
    variables = {}
    while words and re.match(r"[A-Z]\w*=", words[0]):
        name, _, value = words.pop(0).partition("=")
        variables[name] = value
    reads = words[-1] if len(words) > 1 and words[-2] == "<" else None
    return variables, words[:-2] if reads else words, f"{folder}/{reads}" if reads else os.devnull


def typed(tool, line, effects, folder, variables):
    own, words, reads = words_of(line, folder)
    if any(effect.dry for effect in effects):
        words.insert(0, "--dry-run")
    with open(reads) as stdin:
        done = subprocess.run([f"{folder}/bin/{tool}", *words], stdin=stdin, capture_output=True, text=True, timeout=LIMIT_S,
                              cwd=folder, env=variables | own)
    done.stdout, done.stderr = (text.replace(folder, "{folder}") for text in (done.stdout, done.stderr))
    return done


def main():
    prun, wanted = os.path.abspath(sys.argv[1]), " ".join(sys.argv[2:])
    with tempfile.TemporaryDirectory(prefix="dialects-") as folder:
        folder = os.path.realpath(folder)
        fixtures.fill(folder, prun)
        variables = fixtures.environment(folder)
        count = 0
        for tool, line, effects in rows.all_rows():
            if wanted not in f"{tool} {line}":
                continue
            effects = (effects,) if isinstance(effects, Effect) else effects
            done = typed(tool, line, effects, folder, variables)
            wrong = [what for effect in effects if (what := effect.wrong(done, folder))]
            check(f"{tool} {line}", not wrong, f"{'; '.join(wrong)}\n{done.stdout}{done.stderr}")
            count += 1
    print(f"{count} lines")
    check("there are lines", count > 0)
    result()


main()
