#!/usr/bin/env python3
"""The same lines on the same made-up machines, mapped and bound by Open MPI 5 and by prun.

Usage: against_openmpi.py PRUN. Skipped where no mpirun of Open MPI 5 and no lstopo is found
($OPENMPI_MPIRUN, $INTEROP_PEERS/openmpi as benchmarks/peers installs it, or PATH). Numbering is
asked for wherever the two differ by default: Open MPI 5 numbers object by object (--rank-by fill),
prun in the order of mapping, as Open MPI 4 does.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

MACHINES = [
    "package:1 core:1 pu:1", "package:1 core:4 pu:1", "package:1 core:4 pu:2", "package:2 core:4 pu:1",
    "package:2 core:4 pu:2", "package:2 core:20 pu:4", "package:4 core:6 pu:1", "package:2 numa:2 core:4 pu:1",
    "package:2 numa:4 l3:2 core:4 pu:2", "package:1 l3:4 core:4 pu:1", "package:1 numa:1 core:72 pu:1",
    "package:1 numa:4 core:4 pu:1", "package:2 numa:1 l3:2 core:6 pu:1",
]
LINES = [
    "-np 1 --map-by core --bind-to core", "-np 4 --map-by core --bind-to core", "-np 4 --map-by slot --bind-to core",
    "-np 4 --map-by package --bind-to core --rank-by fill", "-np 4 --map-by package --bind-to package --rank-by fill",
    "-np 4 --map-by package --bind-to package --rank-by span", "-np 4 --map-by numa --bind-to numa --rank-by fill",
    "-np 4 --map-by numa --bind-to core --rank-by fill", "-np 8 --map-by numa --bind-to numa --rank-by span",
    "-np 2 --map-by package:PE=2 --bind-to core --rank-by fill", "-np 3 --map-by core:PE=2 --bind-to core",
    "--map-by ppr:1:package --bind-to package", "--map-by ppr:2:numa --bind-to numa", "-np 4 --bind-to none",
    "-np 4 --map-by l3cache --bind-to l3cache --rank-by fill", "-np 2 --map-by hwthread --bind-to hwthread",
]


def find_mpirun():
    peers = f"{os.environ['INTEROP_PEERS']}/openmpi/bin/mpirun" if "INTEROP_PEERS" in os.environ else None
    for path in (os.environ.get("OPENMPI_MPIRUN"), peers, shutil.which("mpirun")):
        if not path or not shutil.which(path):
            continue
        told = subprocess.run([path, "--version"], capture_output=True, text=True).stdout
        if "Open MPI) 5" in told:
            return path
    return None


def cores(text):
    found = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def by_openmpi(mpirun, line, xml):
    """Rank -> cores, or None where it refuses."""
    command = [mpirun, "--allow-run-as-root", "--prtemca", "hwloc_use_topo_file", xml, *line.split(), "--display", "map",
               "--do-not-launch", "true"]
    told = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout
    ranks, rank = {}, None
    for text in told.splitlines():
        if found := re.search(r"Data for proc: \[.*@\d+,(\d+)\]", text):
            rank = int(found[1])
        elif (found := re.search(r"Binding: (.*)", text)) and rank is not None:
            bound = set()
            for places in re.findall(r"core:L?([\d,-]+)", found[1]):
                bound |= cores(places)
            threads = re.findall(r"hwt:L?([\d,-]+)", found[1])
            ranks[rank] = ("hwt", frozenset(cores(threads[0]))) if threads else frozenset(bound)
    return ranks or None


def by_prun(prun, line, xml, threads):
    environment = dict(os.environ, HWLOC_XMLFILE=xml, HWLOC_THISSYSTEM="0")
    told = subprocess.run([prun, *line.split(), "--dry-run", "--nooversubscribe", "true"], capture_output=True,
                          text=True, env=environment)
    ranks = {}
    for found in re.finditer(r"^  rank (\d+)  local \d+(?:  cpus (\S+))?", told.stdout, re.M):
        cpus = cores(found[2] or "")
        if "hwthread" in line and cpus:
            ranks[int(found[1])] = ("hwt", frozenset(cpus))
        else:
            ranks[int(found[1])] = frozenset(cpu // threads for cpu in cpus)
    return ranks or None


def main():
    prun, mpirun = os.path.abspath(sys.argv[1]), find_mpirun()
    if not mpirun or not shutil.which("lstopo-no-graphics"):
        print("skipped: no mpirun of Open MPI 5, or no lstopo")
        sys.exit(77)
    same, differ, refused = 0, [], 0
    with tempfile.TemporaryDirectory() as folder:
        for machine in MACHINES:
            xml = f"{folder}/machine.xml"
            if os.path.exists(xml):
                os.remove(xml)
            subprocess.run(["lstopo-no-graphics", "-i", machine, xml], check=True, capture_output=True)
            threads = int(machine.rsplit("pu:", 1)[1])
            for line in LINES:
                theirs, ours = by_openmpi(mpirun, line, xml), by_prun(prun, line, xml, threads)
                if theirs is None:
                    refused += 1  # more ranks than it has room for, mostly: nothing to compare with
                elif theirs == ours:
                    same += 1
                else:
                    differ.append(f"{machine} | {line}\n  Open MPI {theirs}\n  prun     {ours}")
    print(f"{len(MACHINES)} machines, {len(LINES)} lines: {same} maps are the same, {len(differ)} differ, "
          f"{refused} are refused by Open MPI")
    for one in differ:
        print(one)
    sys.exit(1 if differ else 0)


main()
