"""The runtimes that are compared: where they come from, how to build for them, how to start them.

Open MPI, MPICH and Intel MPI are installed from their wheels into folders of their own below --work;
Debian's Open MPI and MPICH are taken where they are installed. Programs are built by each one's own
compiler wrapper. Each is started the best way we know for it; the flags of Open MPI were found by
measuring (benchmarks/README.md).
"""
import os
import pathlib
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
SOURCES = HERE.parent
sys.path.insert(0, str(SOURCES / "harness"))
import runs  # noqa: E402: found by the line above

PROGRAMS = {
    "allreduce": "coll/allreduce.cc", "bcast": "coll/bcast.cc", "barrier": "coll/barrier.cc",
    "comms": "coll/comms.cc", "polled": "coll/polled.cc", "blocks": "coll/blocks.cc", "copy": "micro/copy.cc",
    "latency": "micro/latency.cc", "bandwidth": "micro/bandwidth.cc", "socket": "micro/socket.cc",
    "message_rate": "micro/message_rate.cc", "threads_rate": "micro/threads_rate.cc",
    "pack": "micro/pack.cc",
    "startup": "launch/startup.cc", "comm_memory": "launch/comm_memory.cc", "overlap": "coll/overlap.cc",
}


def is_older(target, inputs):
    return not target.exists() or any(path.stat().st_mtime > target.stat().st_mtime for path in inputs)


class Tutti:
    name = "tutti"
    environment = {}
    variant_of = None
    helper = {"TUTTI_PROGRESS_US": "50"}  # a thread that makes progress beside the program's

    def __init__(self, build):
        self.build = pathlib.Path(build).resolve()

    def prepare(self):
        targets = ["benchmarks", "launcher/prun/prun", "launcher/prund/prund"]
        pmix, rules = "launcher/pmix/prun-pmix", self.build / "build.ninja"  # Open MPI's ranks between hosts ask it
        if rules.exists() and f"build {pmix}:" in rules.read_text(encoding="utf-8"):
            targets.append(pmix)
        runs.build(self.build, *targets)
        for program in [*(self.build / "benchmarks" / name for name in PROGRAMS), runs.prun_of(self.build)]:
            if not program.exists():
                raise runs.Failed(f"{program} is not there: ninja -C {self.build} benchmarks")

    def program(self, name):
        return str(self.build / "benchmarks" / name)

    def command(self, ranks, oversubscribed, hosts=None):
        command = [str(runs.prun_of(self.build)), "-np", str(ranks)]
        if hosts:
            return [*command, "--virtual", "-H", hosts]
        return command + (["--oversubscribe"] if oversubscribed else ["-bind-to", "core"])


class Peer:
    """A library installed from its wheels, by default one of its own name."""
    wheels = ()
    variant_of = None  # the library that this is with other settings inside a host

    def __init__(self, work):
        self.prefix = pathlib.Path(work).resolve() / (self.variant_of or self.name)
        self.missing = {}  # programs that cannot be built: why

    def prepare(self):
        self.install()
        programs = self.prefix / "benchmarks"
        programs.mkdir(parents=True, exist_ok=True)
        harness = [self.compiled(path) for path in sorted((SOURCES / "harness").glob("*.cc"))]
        for name, source in PROGRAMS.items():
            try:
                inputs = [self.compiled(SOURCES / source), *harness]
                if is_older(programs / name, inputs):
                    runs.run([self.compiler(), "-o", str(programs / name), *map(str, inputs), "-lpthread"],
                             self.environment)
            except runs.Failed as reason:  # an older MPI has not all that a program calls
                self.missing[name] = str(reason)

    def compiler(self):
        return str(self.prefix / "bin" / "mpicxx")

    def compiled(self, source):
        """The object file of a source, made when it is older."""
        target = self.prefix / "benchmarks" / (source.stem + ".o")
        if is_older(target, [source, SOURCES / "harness" / "harness.h"]):
            print(f"  compiling {source.name} for {self.name}", flush=True)
            runs.run([self.compiler(), "-O2", "-std=c++17", "-c", "-o", str(target), str(source)], self.environment)
        return target

    def install(self):
        if (self.prefix / "bin" / "mpicxx").exists():
            return
        print(f"  installing {self.name} into {self.prefix}", flush=True)
        runs.run([sys.executable, "-m", "venv", str(self.prefix)])
        runs.run([str(self.prefix / "bin" / "python"), "-m", "pip", "install", "--quiet",
                  "--disable-pip-version-check", *(self.wheels or [self.name])])

    def program(self, name):
        if name in self.missing:
            raise runs.Failed(f"{name} is not built for {self.name}: {self.missing[name]}")
        return str(self.prefix / "benchmarks" / name)


class OpenMpi(Peer):
    name = "openmpi"
    helper = {}
    environment = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    # Without its network part, which costs a second in MPI_Init. Whether single copy is quicker than copying in
    # and out depends on processor and size, so both are run.
    best = "--mca pml ob1 --mca btl self,sm --mca smsc ^cma".split()

    def launcher(self):
        return str(self.prefix / "bin" / "mpirun")

    def command(self, ranks, oversubscribed):
        command = [self.launcher(), "-n", str(ranks), *self.best]
        if oversubscribed:  # its shared-memory collectives are many times slower then
            return [*command, "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]
        return [*command, "--bind-to", "core", "--mca", "coll_sm_priority", "90"]


class OpenMpiCma(OpenMpi):
    name, variant_of = "openmpi-cma", "openmpi"
    best = "--mca pml ob1 --mca btl self,sm --mca smsc cma".split()


class Mpich(Peer):
    name = "mpich"
    environment = {}
    helper = {"MPIR_CVAR_ASYNC_PROGRESS": "1"}

    def launcher(self):
        return str(self.prefix / "bin" / "mpiexec")

    def command(self, ranks, oversubscribed):
        command = [self.launcher(), "-n", str(ranks)]
        return command if oversubscribed else [*command, "-bind-to", "core"]


class IntelMpi(Mpich):
    name = "intel"
    wheels = ("impi-rt", "impi-devel")
    helper = {"I_MPI_ASYNC_PROGRESS": "1"}
    # Its wheel finds its own network library; ranks that outnumber cores yield at once.
    environment = {"I_MPI_FABRICS": "shm:ofi", "FI_PROVIDER": "tcp"}

    def prepare(self):
        self.environment = dict(self.environment, I_MPI_ROOT=str(self.prefix),
                                LD_LIBRARY_PATH=f"{self.prefix}/lib:{self.prefix}/opt/mpi/libfabric/lib")
        super().prepare()

    def launcher(self):
        return str(self.prefix / "bin" / "mpiexec.hydra")

    def command(self, ranks, oversubscribed):
        if not oversubscribed:
            return [self.launcher(), "-n", str(ranks), "-genv", "I_MPI_PIN_DOMAIN", "core"]
        patient = "-genv I_MPI_PIN 0 -genv I_MPI_THREAD_YIELD 3 -genv I_MPI_SPIN_COUNT 1".split()
        return [self.launcher(), "-n", str(ranks), *patient]


class Debians:
    """In front of a peer: not installed by us, only its programs are ours."""

    def install(self):
        for tool in (self.compiler(), self.launcher()):
            if shutil.which(tool) is None:
                raise runs.Failed(f"{tool} is not installed")


class DebianOpenMpi(Debians, OpenMpi):
    name = "debian-openmpi"
    best = "--mca pml ob1 --mca btl self,vader --mca btl_vader_single_copy_mechanism none".split()

    def compiler(self):
        return "mpicxx.openmpi"

    def launcher(self):
        return "mpirun.openmpi"


class DebianOpenMpiCma(DebianOpenMpi):
    name, variant_of = "debian-openmpi-cma", "debian-openmpi"
    best = "--mca pml ob1 --mca btl self,vader --mca btl_vader_single_copy_mechanism cma".split()


class DebianMpich(Debians, Mpich):
    name = "debian-mpich"

    def compiler(self):
        return "mpicxx.mpich"

    def launcher(self):
        return "mpiexec.mpich"


PEERS = {kind.name: kind for kind in (OpenMpi, OpenMpiCma, Mpich, IntelMpi, DebianOpenMpi, DebianOpenMpiCma,
                                   DebianMpich)}


def made(names, build, work):
    """(libraries that are ready, why others are not) of these names: tutti or a peer's."""
    ready, problems = [], []
    for name in names:
        try:
            library = Tutti(build) if name == Tutti.name else PEERS[name](work)
            library.prepare()
            ready.append(library)
        except KeyError:
            problems.append(f"no library {name}: there are tutti, {', '.join(PEERS)}")
        except runs.Failed as failure:
            problems.append(f"{name} is left out: {failure}")
    return ready, problems


def launch_times(libraries, rounds):
    """Seconds of `launcher 2 ranks true`, one round after the other; {name: [seconds]}."""
    times = {library.name: [] for library in libraries}
    for _ in range(rounds):
        for library in libraries:
            command = [*library.command(2, False), "true"]
            start = time.monotonic()
            done = subprocess.run(command, env=dict(os.environ, **library.environment),
                                  capture_output=True, text=True, stdin=subprocess.DEVNULL)
            if done.returncode != 0:
                raise runs.Failed(f"{' '.join(command)}: status {done.returncode}: {done.stderr[-300:]}")
            times[library.name].append(time.monotonic() - start)
    return times
