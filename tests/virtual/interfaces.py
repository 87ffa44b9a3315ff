#!/usr/bin/env python3
"""interfaces.py PRUN PROGRAM -- which interface data between two virtual hosts goes by, and what is said of it."""
import os
import subprocess
import sys

FORBIDDEN = 208  # launcher/status/status.h
PRUN, PROGRAM = sys.argv[1:]


def run(*words, program=(PROGRAM,), **env):
    return subprocess.run([PRUN, "--virtual", "-H", "a,b", "-np", "2", "--report-links", *words, *program],
                          capture_output=True, text=True, stdin=subprocess.DEVNULL, env={**os.environ, **env})


def check(what, good, done):
    print("ok" if good else "FAILED", what, "" if good else f"\n{done}")
    return 0 if good else 1


failed = 0
first = run(program=("true",))
if first.returncode == FORBIDDEN:
    sys.exit(77)
for words, env in ((["--interfaces", "eth0"], {}), (["-iface", "eth"], {}), (["--interfaces", "fd00::/8"], {}), (["--mca", "btl_tcp_if_exclude", "docker,lo"], {}),
                   ([], {"GLOO_SOCKET_IFNAME": "eth0"})):
    done = run(*words, **env)
    failed += check(f"{words} {env}: the interfaces that there are", done.returncode == 0
                    and "by TUTTI_INTERFACES=" in done.stdout + done.stderr, done)
done = run("--interfaces", "eth0", TUTTI_LINK="ucx")
if "libucp.so" not in done.stdout + done.stderr:  # UCX is here
    failed += check("UCX drives the interface that is named", done.returncode == 0 and "over UCX's tcp on eth0" in done.stdout, done)
    for words in (["--interfaces", "lo"], ["--interfaces", "^eth0"], ["--interfaces", "nosuch"]):
        done = run(*words, TUTTI_LINK="ucx")
        failed += check(f"{words}: nor by any other", done.returncode != 0, done)
for words in (["--interfaces", "lo"], ["--interfaces", "nosuch"], ["--interfaces", "^eth0"]):
    done = run(*words)
    failed += check(f"{words}: no way to the other host", done.returncode != 0, done)
done = run("--interfaces", "nosuch")
failed += check("a list that names none is told", "TUTTI_INTERFACES=nosuch: none of those is up here" in done.stdout + done.stderr,
                done)
done = run("--interfaces", "10.0.0.0/8", program=("printenv", "MASTER_ADDR"))
master = done.stdout.split()[0] if done.stdout else ""
done = run("--interfaces", "fd00::/8", program=("printenv", "MASTER_ADDR"))
failed += check("MASTER_ADDR is of the interface that is named",
                done.returncode == 0 and ":" in done.stdout and ":" not in master, done)
done = run(program=("printenv", "NCCL_SOCKET_IFNAME"))
failed += check("NCCL is told the interface that leads to rank 0's host", done.stdout.split().count("=eth0") == 2, done)
done = run(program=("printenv", "NCCL_SOCKET_IFNAME"), NCCL_SOCKET_IFNAME="lo")
failed += check("unless it was told", done.stdout.split().count("lo") == 2, done)
sys.exit(1 if failed else 0)
