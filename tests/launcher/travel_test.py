#!/usr/bin/env python3
"""What goes along to hosts that inherit nothing of prun's. Usage: travel_test.py PRUN"""
import os
import sys
import tempfile

from checks import check, result, run

PRUN = os.path.abspath(sys.argv[1])
HOST_PATH = "/usr/bin:/bin"


class Far:
    """Hosts of this machine that are reached by a command which, as ssh, lets nothing through."""

    def __init__(self, folder):
        self.folder = folder
        self.agent = f"{folder}/agent"
        self.write("agent", f'for line; do :; done\nexec env -i PATH={HOST_PATH} HOME="{folder}" HOSTNAME=far TMPDIR=/tmp '
                            'sh -c "$line"\n')
        for name in ("mpiexec", "mpiexec.hydra", "srun", "torchrun"):
            os.symlink(PRUN, f"{folder}/{name}")

    def write(self, name, text):
        path = f"{self.folder}/{name}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(f"#!/bin/sh\n{text}")
        os.chmod(path, 0o755)
        return path

    def variables(self, launcher, *words, **given):
        """The environment of the first rank on host a."""
        done = run(f"{self.folder}/{launcher}" if launcher != "prun" else PRUN, "--launch-agent", self.agent, "--host", "far-a",
                   *words, "-n", "1", "env", env={**os.environ, "HOSTNAME": "near", "TMPDIR": self.folder, "MINE": "1 2",
                                                  "OMPI_MINE": "3", **given})
        return done, dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)


def whole(far):
    for launcher, words in (("prun", ["-genvall"]), ("prun", ["--export=ALL"]), ("mpiexec", ["-envall"]),
                            ("mpiexec.hydra", []), ("srun", []), ("srun", ["--export=ALL,X=1"])):
        done, seen = far.variables(launcher, *words)
        what = " ".join([launcher, *words])
        check(f"{what}: the whole environment goes along", seen.get("MINE") == "1 2", done)
        check(f"{what}: but what is the host's own",
              (seen.get("HOSTNAME"), seen.get("TMPDIR"), seen.get("HOME")) == ("far", "/tmp", far.folder), done)
    for launcher, words in (("prun", []), ("mpiexec.hydra", ["-genvlist", "OTHER"]), ("srun", ["--export=OTHER=1"]),
                            ("srun", ["--export=NONE"])):
        done, seen = far.variables(launcher, *words)
        check(f"{launcher} {' '.join(words)}: it does not", done.returncode == 0 and "MINE" not in seen, done)
    done, seen = far.variables("prun")
    check("Open MPI's own variables always do", seen.get("OMPI_MINE") == "3", done)


def virtual_environment(far):
    """torchrun -H a,b inside of a venv: its python, and what it finds."""
    far.write("venv/bin/python3", 'echo "venv $PYTHONPATH $VIRTUAL_ENV"\n')
    env = {**os.environ, "PATH": f"{far.folder}/venv/bin:{os.environ['PATH']}", "PYTHONPATH": "/mods",
           "VIRTUAL_ENV": f"{far.folder}/venv"}
    done = run(f"{far.folder}/torchrun", "--launch-agent", far.agent, "-H", "far-a,far-b", "--nproc_per_node=1", "x.py", env=env)
    check("a host runs the python of the virtual environment",
          done.returncode == 0 and done.stdout == f"venv /mods {far.folder}/venv\n" * 2, done)


def another_user(far):
    """user@localhost is reached as that user, by the agent; who prun runs as is here."""
    me = run("id", "-un").stdout.strip()
    for user, place in (("somebody-else", "far"), (me, "near")):
        done = run(PRUN, "--launch-agent", far.agent, "-H", f"{user}@localhost", "-np", "1", "printenv", "HOSTNAME",
                   env={**os.environ, "HOSTNAME": "near"})
        check(f"{user}@localhost", done.returncode == 0 and done.stdout == f"{place}\n", done)


with tempfile.TemporaryDirectory(prefix="launcher-") as place:
    hosts = Far(place)
    whole(hosts)
    virtual_environment(hosts)
    another_user(hosts)
result()
