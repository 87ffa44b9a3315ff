"""Hosts that are named inside of an allocation are picked from it, whatever they are called, and started
by srun; others are refused."""
import os


def no_ssh(suite):
    """An ssh, first in the path of jobs, that says it was used."""
    with open(suite.cluster.path("ssh"), "w") as file:
        file.write("#!/bin/sh\necho ssh was used >&2\nexit 255\n")
    os.chmod(suite.cluster.path("ssh"), 0o755)
    return {"PATH": f"{suite.cluster.folder}:{os.environ['PATH']}"}


def hostfile(suite, name, text):
    with open(suite.cluster.path(name), "w") as file:
        file.write(text)
    return suite.cluster.path(name)


def heterogeneous(suite):
    n1, n2 = suite.cluster.names[:2]
    where = f"{suite.prun} sh -c 'echo rank $RANK of $WORLD_SIZE on $(hostname)'"
    words = [f"rank 0 of 3 on {n1}\n", f"rank 1 of 3 on {n1}\n", f"rank 2 of 3 on {n2}\n"]
    for what, done in {
        "salloc": suite.salloc("-N1 -n2 : -N1 -n1", "sh", "-c", where),
        "a job script": suite.batch("-N1 -n2 : -N1 -n1", where),
        "-H in one": suite.salloc("-N1 -n2 : -N1 -n1", "sh", "-c", where.replace("prun sh", f"prun -H {n1}:2,{n2} sh", 1)),
    }.items():
        suite.check(f"a heterogeneous job: {what}", done, 0, *words)
    gpus = suite.salloc("-N1 -n2 --gpus=2 : -N1 -n1 --gpus=1", suite.prun, "sh", "-c",
                        "echo rank $RANK sees ${CUDA_VISIBLE_DEVICES:-none}")
    suite.check("and its GPUs", gpus, 0, "rank 0 sees 0,1\n", "rank 1 sees 0,1\n", "rank 2 sees 0\n")


def run(suite):
    n1, n2, n3 = suite.cluster.names
    path = no_ssh(suite)
    where = ["sh", "-c", "echo rank $RANK on $(hostname)"]
    salloc = lambda *words, tasks=2: suite.salloc(f"-N2 --ntasks-per-node={tasks} -x {n3}", suite.prun, *words, **path)
    bare = hostfile(suite, "bare", f"{n2}\n{n1}\n")
    suite.check("--hostfile with the job's nodes", salloc("--hostfile", bare, *where), 0, f"rank 0 on {n2}\n",
                f"rank 1 on {n2}\n", f"rank 2 on {n1}\n", f"rank 3 on {n1}\n", without=["ssh was used"])
    counted = hostfile(suite, "counted", f"{n1} slots=1\n{n2} slots=9\n")
    suite.check("a hostfile's slots, as far as the job has them", salloc("--hostfile", counted, *where), 0,
                f"rank 0 on {n1}\n", f"rank 1 on {n2}\n", f"rank 2 on {n2}\n", f"host {n2}: 9 slots by {counted}:2, but",
                "has 2 there", without=["rank 3", "ssh was used"])
    foreign = hostfile(suite, "foreign", f"{n1}\n{n3}\n")
    suite.check("a hostfile's host outside of the job", salloc("--hostfile", foreign, *where), 205,
                f"host {n3} of {foreign}:2 is not in Slurm job", f"which has {n1}, {n2}", without=["ssh was used"])
    suite.check("-H outside of the job", salloc("-H", n3, *where), 205, f"host {n3} of -H is not in Slurm job",
                f"which has {n1}, {n2}", "--launcher ssh", without=["ssh was used"])
    suite.check("--launcher ssh goes beyond the job", salloc("--launcher", "ssh", "-H", n3, *where), 201, "ssh was used")
    suite.check("-H localhost where the job does not run", salloc("-H", "localhost", *where), 205,
                "host localhost of -H is not in Slurm job", without=["ssh was used"])
    suite.check("a name with its domain", salloc("-H", f"{n2}.cluster", "-np", "1", *where), 0, f"rank 0 on {n2}\n",
                without=["ssh was used"])
    more = salloc("-H", f"{n2}:4", *where, tasks=1)
    suite.check("-H with more slots than there are", more, 0, f"host {n2}: 4 slots by -H, but Slurm job", "has 1 there",
                f"rank 0 on {n2}\n", without=["rank 1"])
    suite.check("more ranks than that", salloc("-H", f"{n2}:4", "-np", "4", *where, tasks=1), 204,
                f"host {n2}: 4 slots by -H, but Slurm job", "4 ranks, 1 slot")
    here = suite.batch(f"-N2 --ntasks-per-node=1 -x {n3}", f"{suite.prun} -H localhost,{n2} {where[0]} -c '{where[2]}'")
    suite.check("-H localhost in a job script", here, 0, f"rank 0 on {n1}\n", f"rank 1 on {n2}\n",
                without=["ssh was used"])
    heterogeneous(suite)
