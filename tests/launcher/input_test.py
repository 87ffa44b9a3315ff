#!/usr/bin/env python3
"""What files, words and hosts say is told in clear lines, and steers no terminal. Usage: input_test.py PRUN"""
import os
import subprocess
import sys
import tempfile

from checks import check, result, run

PRUN = os.path.abspath(sys.argv[1])
EVIL = "evil\x1b]0;title\x07\x1b[31m"
SHOWN = "evil\\x1b]0;title\\x07\\x1b[31m"


def file_of(folder, name, content):
    path = f"{folder}/{name}"
    with open(path, "wb") as file:
        file.write(content)
    return path


def refused(what, said, *words, **how):
    """One line says it, and nothing in it is for the terminal."""
    done = run(PRUN, *words, **how)
    check(what, done.returncode != 0 and said in done.stderr and done.stderr.count("prun: ") == 1
          and done.stderr.endswith("\n") and "\x1b" not in done.stderr + done.stdout, done)


def steers_nothing(folder):
    hosts = file_of(folder, "hosts", f"{EVIL} slots=2\n".encode())
    refused("a hostfile's escape sequences are shown", SHOWN, "--hostfile", hosts, "true")
    ranks = file_of(folder, "ranks", f"{EVIL}\n".encode())
    refused("so are a rankfile's", SHOWN, "--rankfile", ranks, "-np", "1", "true")
    ranks = file_of(folder, "zero", b"rank\0 0\n")
    refused("a rankfile's line is shown to its end", "rank\\x00 0", "--rankfile", ranks, "-np", "1", "true")
    refused("so are a program's", SHOWN, "-np", "1", f"./{EVIL}")
    planned = run(PRUN, "--dry-run", "-np", "1", f"./{EVIL}")
    check("and in a plan", SHOWN in planned.stdout and "\x1b" not in planned.stderr + planned.stdout, planned)
    refused("and an option's", SHOWN, f"--{EVIL}")
    costs = dict(os.environ, TUTTI_COSTS=EVIL)
    refused("and a table's of costs", SHOWN, "-np", "1", "true", env=costs)
    agent = file_of(folder, "agent", f"#!/bin/sh\nprintf '{EVIL}\\n' >&2\nexit 1\n".encode())
    os.chmod(agent, 0o755)
    refused("and what a host's way says", SHOWN, "--launch-agent", agent, "-H", "b", "-np", "1", "true")
    refused("and what a rank wrote last", "\n    " + SHOWN, "-np", "2", "--oversubscribe", "--output", "file=" + folder + "/out",
            "sh", "-c", f"printf '10 %%\\r{EVIL}\\r\\n' >&2; exit 3")


def last_words(folder):
    """What a rank wrote last is said again only where others have pushed it out of sight."""
    for between in (0, 20):
        script = ("wait_for() { until [ -e $1 ]; do sleep 0.01; done; }; "
                  f"[ $RANK = 0 ] && {{ wait_for told{between}; seq {between} >&2; echo said >&2; exec sleep 100; }}; "
                  f"echo the reason >&2; wait_for end{between}; exit 3")
        job = subprocess.Popen([PRUN, "-np", "2", "--oversubscribe", "--wdir", folder, "sh", "-c", script],
                               stderr=subprocess.PIPE, text=True)
        said = ""
        for words, then in (("the reason", "told"), ("said", "end")):
            while words not in said:
                line = job.stderr.readline()
                if not line:
                    break
                said += line
            file_of(folder, f"{then}{between}", b"")
        said += job.stderr.read()
        check(f"what a rank wrote last is told {'twice' if between else 'once'}, {between} lines later",
              job.wait() == 3 and said.count("the reason") == (2 if between else 1), said)


def clear_words(folder):
    refused("-np has a most, and it is said", "-np needs a whole number from 1 to 1048576, not '1000000000'",
            "-np", "1000000000", "true")
    for word, most in (("slots=2147483647", 1048576), ("port=70000", 65535)):
        hosts = file_of(folder, "many", f"a {word}\n".encode())
        refused(f"so has {word}", f"'{word}' needs a whole number from 1 to {most} after '='", "--hostfile", hosts, "true")
    ranks = file_of(folder, "far", b"rank 0=localhost slot=4294967296:0\n")
    refused("a rankfile's package is not cut to another", "'4294967296:0' names no processor", "--rankfile", ranks, "-np", "1", "true")
    refused("a file without an end is not read to it", "more than 64 MiB are in it", "--hostfile", "/dev/zero", "true")
    for content in (b"", b"# rank 0=localhost\n"):
        ranks = file_of(folder, "none", content)
        refused("a rankfile without a rank", "names no rank; write 'rank 0=host", "--rankfile", ranks, "-np", "1", "true")
    refused("a rank that there is not", "--output-from 2: the job has ranks 0 to 1", "--output-from", "0,2", "-np", "2", "true")
    refused("a node that there is not", "--node-rank 2 of at most 2 nodes (--nnodes): they are 0 to 1", "--nnodes", "1:2", "--node-rank", "2",
            "true")
    refused("a file is not who reads", "not '/dev/null'; a file is read by '< FILE'", "--input", "/dev/null", "true")
    refused("a time that is none", "--timeout needs seconds", "--timeout", "0.0001", "true")
    programs = file_of(folder, "programs", b"-np 1 echo up\n")
    refused("an option behind a file of programs is not one of theirs", "--tag-output stands behind --app", "--app", programs,
            "--tag-output")
    refused("nor is an empty word", "'' stands behind --app", "--app", programs, "")
    loop = file_of(folder, "loop", f"--app {folder}/loop\n".encode())
    refused("a file of programs that names itself", "files of programs (does one name itself?)", "--app", loop)
    refused("a host that --rankmap names and there is not", "--rankmap: there is no host 5; the job's hosts are 0 to 1",
            "--dry-run", "--rankmap", "0,1,5", "-H", "a,b", "true")
    refused("two ways to have hosts", "--launcher slurm and --virtual contradict each other", "--virtual", "--launcher", "slurm",
            "-H", "a,b", "true")
    refused("hosts have a most", "more than 1048576 hosts", "-H", "node[1-9999999]", "true")
    for ranks in ("600000", "1048576"):
        refused(f"{ranks} ranks are too many for a host", "are the most", "-np", ranks, "--oversubscribe", "true")
    descriptor = os.open(folder, os.O_RDONLY)
    done = run(PRUN, "-np", "1", "cat", stdin=descriptor)
    check("standard input that is a folder is told", done.stderr.count("prun: ") == 1
          and "standard input could not be read: Is a directory" in done.stderr, done)
    hosts = file_of(folder, "marked", b"\xef\xbb\xbflocalhost slots=2\r\n")
    done = run(PRUN, "--hostfile", hosts, "-np", "2", "echo", "up")
    check("a hostfile with an editor's mark and line ends is read", done.stdout == "up\nup\n" and done.returncode == 0, done)


def main():
    with tempfile.TemporaryDirectory(prefix="launcher-") as folder:
        steers_nothing(folder)
        last_words(folder)
        clear_words(folder)
    result()


main()
