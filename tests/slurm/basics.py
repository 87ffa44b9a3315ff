"""The ways into a job: prun inside salloc and sbatch, and our ranks under srun itself."""
import os


def inside(suite):
    n1, n2 = suite.cluster.names[:2]
    salloc = lambda *words: suite.salloc("-N2 --ntasks-per-node=2", suite.prun, *words)
    suite.check("hosts and slots are Slurm's", salloc("--dry-run", "--display", "allocation", "true"), 0,
                f"host {n1}: 2 slots, by Slurm job", "plan: 4 ranks on 2 hosts")
    suite.check("srun starts the daemons", salloc("sh", "-c", "echo rank $RANK of $WORLD_SIZE at ${SLURM_PROCID:-none}"),
                0, *[f"rank {rank} of 4 at none\n" for rank in range(4)])
    suite.check("-H picks from the allocation", salloc("-H", n2, "-np", "2", "sh", "-c",
                                                       "echo $(hostname) of $GROUP_WORLD_SIZE"), 0, f"{n2} of 1\n")
    suite.check("a rank's status comes back", salloc("sh", "-c", "test $RANK != 3 || exit 5; sleep 100"), 5,
                f"rank 3 on host {n2}")
    suite.check("too many ranks", salloc("-np", "5", "true"), 204, "4 slots", "Slurm job")
    suite.check("a time limit", salloc("--timeout", "1", "sleep", "100"), 207, "time limit")
    world = suite.batch("-N2 --ntasks-per-node=2", f"{suite.prun} {suite.program}")
    suite.check("a job script", world, 0, *[f"rank {rank} of 4, 2 here, sum 10, ring good" for rank in range(4)])


def processors(suite):
    """--cpus-per-task, where ranks are bound. This machine must have two cores for that."""
    if (os.cpu_count() or 1) < 2:
        print("skipped --cpus-per-task: there is one processor")
        return
    bound = lambda options, *words: suite.salloc(options, suite.prun, "--bind-to", "hwthread", "--report-bindings",
                                                 *words, "true")
    suite.check("--cpus-per-task", bound("-N1 -n1 --cpus-per-task=2"), 0, "cpus 0-1")
    suite.check("prun's own count", bound("-N1 -n1"), 0, "cpus 0\n")
    suite.check("more than there are leaves one each", bound("-N1 -n1 --cpus-per-task=4", "-np", "4", "--oversubscribe"), 0)


def our_ranks_by_srun(suite):
    """Every way srun has of starting MPI programs; and the one that cannot work says so."""
    offered = suite.cluster.run("srun", "--mpi=list")
    srun = lambda *words, program=suite.program: suite.cluster.run("srun", *words, program)
    for way in ("pmi2", "pmix"):
        if way not in (offered.stdout + offered.stderr).split():
            print(f"skipped srun --mpi={way}: this Slurm has no such plugin")
            continue
        suite.check(f"our ranks under srun --mpi={way}", srun("-N2", "--ntasks-per-node=2", f"--mpi={way}"), 0,
                    *[f"rank {rank} of 4, 2 here, sum 10, ring good" for rank in range(4)])
        suite.check(f"memory files are shared under srun --mpi={way}",
                    srun("-N2", "--ntasks-per-node=2", f"--mpi={way}", program=suite.share), 0,
                    *[f"rank {rank}: good" for rank in range(4)])
    suite.check("our ranks under srun --mpi=none stop", srun("-N2", "-n4", "--mpi=none"), 16,
                "another launcher started this process", "--mpi=pmi2")
    suite.check("one rank under srun --mpi=none is a world", srun("-n1", "--mpi=none"), 0, "rank 0 of 1,")
    suite.check("a singleton inside salloc is a world", suite.salloc("-N2 -n4", suite.program), 0, "rank 0 of 1,")


def run(suite):
    inside(suite)
    processors(suite)
    our_ranks_by_srun(suite)
