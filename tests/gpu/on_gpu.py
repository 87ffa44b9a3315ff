"""on_gpu: what scripts/gpu_check runs of tests/gpu and tests/ranks, and how each has to end.

Nothing here needs what only the stand-ins have. The order is that of the check: what was tried on a GPU comes
first, what may leave it in a bad way comes last, since the time may be over before.
"""
import dataclasses

# By NCCL whatever the size; and by which NCCL is never worth asking for: ours, chosen as ever.
FORCED = {f"TUTTI_{name}": "nccl" for name in
          ("ALLREDUCE", "REDUCE", "BCAST", "GATHER", "SCATTER", "ALLGATHER", "ALLTOALL", "REDUCE_SCATTER")}
NEVER = {"TUTTI_COSTS": "nccl=1e6:1e-5"}
RECOVERS = ["--enable-recovery"]
KILLED = 137


def goes_on(alive, dead):
    """What a rank says that goes on, and prun of the dead one."""
    return (rf"(?s)(?=.*rank {alive} goes on).*prun: rank {dead} on host \S+ was killed by signal 9 \(Killed\) "
            r"(in MPI\w+|outside MPI), having used its GPU \d")


@dataclasses.dataclass(frozen=True)
class Run:
    what: str                   # the program and its words
    ranks: tuple = (2,)         # so many; brief: the first
    ends: int | None = 0        # the job's status; None: any, but neither a crash nor a hang
    says: str = ""              # a pattern that its output has
    prun: tuple = ()            # more words for it
    env: dict = dataclasses.field(default_factory=dict)
    nccl: bool = False          # wants NCCL between all ranks: host ids where they share a GPU
    limit: int = 60             # seconds, then it stands still


TRIED = [Run(name, (2, 1, 4)) for name in
         ("messages", "collectives", "layouts", "operations", "streams", "waiting")] + [
    Run("ipc direct", (2, 4), says=r"(?s)\A(?!.*partly staged).*0 -> .* 1: (cuda_ipc|staged: no peer access)",
        prun=("--report-links",))]

NCCL_TRIED = [
    Run("nccl forced", (2, 4), env=FORCED, nccl=True),
    Run("nccl weighed", env={"TUTTI_EXPLAIN": "1"}, nccl=True),
    Run("nccl_forms forced", (2, 4), env=FORCED, nccl=True),
    Run("nccl_forms weighed", env={"TUTTI_EXPLAIN": "1"}, nccl=True)]

FAILURES = [
    Run("drawn", (2, 1, 4)),
    Run("packed real", prun=("--report-links",)),
    Run("unused", (2, 3)),
    Run("failures returned"),
    Run("failures freed", ends=1, says="is GPU memory that has been freed"),
    Run("failures unseen", ends=1, says="is no memory of this process"),
    Run("failures freed_in_collective", ends=1, says="is GPU memory that has been freed"),
    Run("failures freed_everywhere", (2, 1, 3)),
    Run("one_fails freed", (2, 3)),
    Run("one_fails unseen", (2, 3)),
    Run("late libcuda.so.1"),
    Run("scratch direct", (2, 3, 4), says="0 -> .* 1: (cuda_ipc|staged: no peer access)", prun=("--report-links",),
        env=NEVER),
    Run("gaps real", (2, 3, 4), env=NEVER),
    Run("widened direct", (3, 4), env=NEVER),
    Run("held ours", (2, 1, 4)),
    Run("partitioned_beside", (2, 3)),
    Run("let_in", (1, 2)),
    Run("let_in", (4,), env=NEVER | {"TUTTI_ALLGATHER": "bruck"}),
    Run("behind", env={"TUTTI_LINK": "tcp"}),
    Run("announced"),
    Run("announced", env={"TUTTI_LINK": "tcp"}),
    Run("barred free", ends=207, says="has not answered cu[A-Za-z]+ for 10 s", limit=20),  # for ever, as it has to
    Run("captures own"),
    Run("captures other"),
    Run("captures helper", env={"TUTTI_PROGRESS_US": "100"}),
    Run("insignificant", (4, 2)),
    Run("stream_failures wrong"),
    Run("stream_failures fatal", ends=15, says="MPIX_Recv_enqueue on a communicator of 2 ranks: enqueued in stream 0x"),
    Run("stream_failures untold", says="and no call came that could say so"),
    Run("stream_failures exits", ends=3, says="ended with status 3"),
    Run("stream_failures killed", ends=KILLED, says=goes_on(0, "[1-9]"), prun=RECOVERS),
    Run("ipc_faults killed 0", ends=KILLED, says=goes_on(1, 0), prun=RECOVERS),
    Run("ipc_faults killed 1", ends=KILLED, says=goes_on(0, "[1-9]"), prun=RECOVERS)]

NCCL_FAILURES = [
    Run("operations nccl", env=FORCED, nccl=True),
    Run("nccl_threads", (2, 3), env=FORCED, nccl=True),
    Run("nccl_contexts", (2, 3), env=FORCED, nccl=True),
    Run("nccl_levels 0 right", (3,), env=FORCED, nccl=True),
    Run("nccl_kill", (2, 3), ends=KILLED, says=goes_on(0, "[1-9]"), prun=RECOVERS, env=FORCED, nccl=True),
    Run("nccl_streams declined", env=FORCED, nccl=True),
    Run("nccl_streams streamed", (2, 3), env=FORCED, nccl=True),
    Run("nccl_streams alone", env=FORCED, nccl=True),
    Run("nccl_streams beside", env=FORCED, nccl=True),
    Run("held nccl", nccl=True),
    Run("nccl_streams unkept", env=FORCED, nccl=True),
    Run("nccl_streams killed", ends=KILLED, says=goes_on(0, "[1-9]"), prun=RECOVERS, nccl=True)]

# Ranks 0 and 2, or their like, share a GPU: NCCL goes between those who lead.
LEVELS = [
    Run("nccl levels", (4,), env=FORCED),
    Run("nccl_levels 0,1,0 right", (3,), env=FORCED),
    Run("nccl_levels 0,0,1,1 right", (4,), env=FORCED),
    Run("nccl_levels 0,1,1,0 dies", (4,), ends=KILLED, says=goes_on(0, "[1-9]"), prun=RECOVERS, env=FORCED)]

# A GPU is reset; and the program breaks CUDA's rules: what is read then may be anything.
LAST = [
    Run("contexts again"),
    Run("contexts finalize"),
    Run("ipc_faults unmapped", ends=None),
    Run("ipc_faults freed_in_pool", ends=None),
    Run("ipc_faults freed", ends=None)]

# Where no GPU reads another process's memory; and between two hosts of this machine's own, which it may forbid.
STAGED = {"TUTTI_LINK": "shm"}
TWO_HOSTS = ("--virtual", "-H", "a:2,b:2")
OTHER_WAYS = [
    Run("messages staged", (2, 4), env=STAGED),
    Run("collectives staged", (2, 4), env=STAGED),
    Run("ipc staged", says="0 -> .* 1: staged: ", prun=("--report-links",), env=STAGED),
    Run("packed staged", env=STAGED),
    Run("scratch staged", (2, 4), env=STAGED | NEVER),
    Run("widened staged", (3,), env=STAGED | NEVER),
    Run("by_parts right", (2, 3), env=STAGED | NEVER | {"TUTTI_ALLREDUCE": "shm"}),
    Run("drawn staged", env=STAGED),
    Run("messages between hosts", (4,), prun=TWO_HOSTS),
    Run("collectives between hosts", (4,), prun=TWO_HOSTS),
    Run("drawn between hosts", (4,), prun=TWO_HOSTS)]

# Each may stand still for its 30 seconds: behind the moved programs, so that no others lack them.
THREADS = [
    Run("threads apart", limit=30, nccl=True),  # NCCL does not refuse them
    Run("threads", (2, 3), limit=30),
    Run("threads staged", (2, 3), limit=30, env={"TUTTI_LINK": "shm"}),  # which part it is that stands still
    Run("threads without_nccl", (2, 3), limit=30, env=NEVER),
    Run("threads connections", limit=30, env={"CUDA_DEVICE_MAX_CONNECTIONS": "32"}),
    Run("threads eager", limit=30, env={"CUDA_MODULE_LOADING": "EAGER"})]

PROGRAMS = sorted({run.what.split()[0] for run in TRIED + NCCL_TRIED + FAILURES + NCCL_FAILURES + LEVELS + LAST +
                                                 OTHER_WAYS + THREADS} |
                  {"figures", "allreduce_figures", "pointer_figures", "copy_figures", "driver_waits"})
# Not on a real GPU: what these are about only the stand-ins have (check_test.py asks for the rest).
WITHOUT = ["driver_calls",  # calls of the driver's are counted
           "grouped",       # what NCCL serves and the stand-in refuses
           "host_calls",    # the driver's calls are counted
           "nccl_faults",   # NCCL's functions fail as they are told
           "other_memory",  # the host's memory comes to be where a GPU's was
           "paired",        # four GPUs, of which two and two reach each other
           "plain",         # whose libraries are those that the loader finds
           "overlapped",    # what copies take is made up
           "quickest",      # likewise
           "refused",       # the driver fails as it is told
           "unawaited",     # bytes that pass through host memory are counted; scratch has its calls
           "taken",         # a stand-in that ends who takes memory away below a copy
           "touched"]       # likewise whose kernel touches what its GPU may not
# Of MPICH's suite, whose buffers tests/mover moves, too: so many at most, and none of these (its run.py says why).
MPICH_MOST = 24
MPICH_WITHOUT = ["pt2pt/rqstatus", "pt2pt/sendflood", "pt2pt/scancel", "pt2pt/pscancel",
                 "threads/pt2pt/threads"]  # two million messages
# Programs of tests/ranks that it moves: what tests/mover/run.py has first.
MOVED = ["p2p", "persistent", "nonblocking", "collectives", "topologies", "buffered"]
