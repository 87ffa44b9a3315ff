#!/usr/bin/env python3
"""paired_test.py PRUN PROGRAM -- four GPUs that reach each other in pairs: what prun tells of each link.

The program checks what it receives, and by which way.
"""
import os
import re
import subprocess
import sys


def main():
    prun, program = sys.argv[1:]
    done = subprocess.run([prun, "--oversubscribe", "--report-links", "-np", "4", program], capture_output=True, text=True,
                          timeout=150, check=False,
                          env=dict(os.environ, STANDIN_CUDA_DEVICES="4", STANDIN_CUDA_PEERS="0-1,2-3"))
    said = done.stdout + done.stderr
    print(said)
    assert done.returncode == 0, done.returncode
    links = {(int(one), int(other)): way for one, other, way in re.findall(r"(\d) -> \S+ (\d): (.*)", said)}
    assert len(links) == 12, links
    for (one, other), way in links.items():
        wanted = "cuda_ipc, another GPU" if one // 2 == other // 2 else "staged: no peer access"
        assert way.startswith(wanted), f"{one} -> {other}: {way}, wanted {wanted}"


main()
