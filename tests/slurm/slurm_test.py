#!/usr/bin/env python3
"""Jobs inside a real Slurm (cluster.py): prun's daemons are started by srun, our ranks by srun itself,
and torchrun's lines in job scripts.

Usage: slurm_test.py PRUN WORLD ENDS SHARE [STAGE...]      WORLD: tests/interop/world.c; ENDS: ends.c;
SHARE: tests/ranks/share.cc"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, f"{HERE}/../support")
from suite import Suite  # noqa: E402
import basics  # noqa: E402
import cluster  # noqa: E402
import endings  # noqa: E402
import gpus  # noqa: E402
import hosts  # noqa: E402
import signals  # noqa: E402
import torchrun  # noqa: E402

# By the way in which Slurm tracks processes: a cluster each. With TUTTI_TEST_QUICK the first one only.
STAGES = {
    "cgroup": {"basics": basics.run, "torchrun": torchrun.run, "hosts": hosts.run,
               "gpus": gpus.run, "signals": signals.run, "endings": endings.run},
    "linuxproc": {"signals-by-descent": signals.by_descent},
    "pgid": {"signals-by-group": signals.by_group, "lost-node": endings.lost_node},
}


def run_stages(proctrack, stages, *programs):
    if proctrack == "cgroup" and not cluster.can_freeze():
        print("no freezer control group here: by linuxproc instead")
        proctrack = "linuxproc"
    machines = cluster.Cluster(3, proctrack)
    suite = Suite(machines, *programs)
    try:
        for stage in stages:
            stage(suite)
            suite.nothing_is_left()
        return suite.failures
    finally:
        suite.kill_all()
        machines.close()


def main():
    if reason := cluster.missing():
        print(f"skipped: {reason}")
        sys.exit(77)
    programs = [os.path.abspath(word) for word in sys.argv[1:5]]
    chosen = sys.argv[5:]
    failures = 0
    for proctrack, stages in STAGES.items():
        if proctrack != "cgroup" and os.environ.get("TUTTI_TEST_QUICK") and not chosen:
            continue
        wanted = [stage for name, stage in stages.items() if name in chosen or not chosen]
        failures += run_stages(proctrack, wanted, *programs) if wanted else 0
    print(f"{failures} failures")
    sys.exit(1 if failures else 0)


main()
