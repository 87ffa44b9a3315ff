"""What tests of whole jobs stand on: ways to start a job, its processes found by a mark in their
environment, and what could be left behind."""
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time

LIMIT_S = 120  # generous: a loaded machine is no failure
LONGEST_JOB_S = 300  # that any test runs
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}  # without these Open MPI's mpirun refuses


def processes_with(mark):
    """Live processes that carry MARK in their environment, as pid -> command line."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                if f"TUTTI_TEST_MARK={mark}\0".encode() not in file.read():
                    continue
            with open(f"/proc/{name}/stat") as file:
                state = file.read().rsplit(")", 1)[1].split()[0]
            with open(f"/proc/{name}/cmdline", "rb") as file:
                command = file.read().replace(b"\0", b" ").decode(errors="replace").strip()
        except OSError:
            continue
        if state not in "ZX":
            found[int(name)] = command
    return found


def stat_of(pid):
    """Fields of /proc/PID/stat from its state on; nothing: it is gone."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def state_of(pid):
    return next(iter(stat_of(pid)), "")


def parent_of(pid):
    return int((stat_of(pid) or [0, 0])[1])


def most_kib(pid):
    """Of memory, that it has had at a time."""
    with open(f"/proc/{pid}/status") as file:
        return int(next(line for line in file if line.startswith("VmHWM")).split()[1])


def ancestors(pid):
    """Of a process, nearest first; itself is not one."""
    found = []
    while (pid := parent_of(pid)) > 1:
        found.append(pid)
    return found


def leads_a_group(pid):
    try:
        return os.getpgid(pid) == pid
    except ProcessLookupError:
        return False


_ports_held = []


def free_port():
    """A port of loopback for a server of this test, this process's until it ends: no client is given it
    (net.ipv4.ip_local_port_range), and no test that runs beside this one is."""
    first, end = 10000, 32768
    while True:
        port = random.randrange(first, end)
        holder = socket.socket(socket.AF_UNIX)
        try:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
            holder.bind(f"\0test-port-{port}")
        except OSError:
            holder.close()
            continue
        _ports_held.append(holder)
        return port


def by_hand(rank, size, port):
    """The environment of a rank of one host that torchrun, or a person, has started."""
    return dict(os.environ, RANK=str(rank), WORLD_SIZE=str(size), LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE=str(size),
                MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))


def wait_until(condition, what, limit_s=LIMIT_S):
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        value = condition()
        if value:
            return value
        time.sleep(0.01)
    raise AssertionError(f"waited {limit_s} s for {what}")


def is_desk_of_the_living(name):
    """Where a prun that runs can be asked (--ps): it belongs to a job that is not over, of others perhaps."""
    pid = name.removeprefix("@tutti-prun-")
    return pid.isdigit() and os.path.exists(f"/proc/{pid}")


def leftovers():
    """Everything outside processes that a job might leave: files, interfaces, sockets."""
    found = {f"/dev/shm/{name}" for name in os.listdir("/dev/shm") if "tutti" in name}
    found |= {f"interface {name}" for name in os.listdir("/sys/class/net") if name.startswith(("port", "br0"))}
    with open("/proc/net/unix") as file:
        names = [line.split()[-1] for line in file if "@tutti" in line]
    found |= {f"socket {name}" for name in names if not is_desk_of_the_living(name)}
    with open("/proc/self/mounts") as file:
        found |= {f"mount {line.split()[1]}" for line in file if line.startswith("tutti")}
    return found


def new_leftovers(before):
    """What is left now and was not before. Jobs of others on this machine come and go: only what
    stays counts, longer than any of them lasts."""
    deadline = time.monotonic() + LONGEST_JOB_S
    extra = leftovers() - before
    while extra and time.monotonic() < deadline:
        time.sleep(0.1)
        extra &= leftovers()
    return extra


def no_ssh_server():
    """Why no ssh server can run here, or nothing."""
    if not shutil.which("ssh") or not os.path.exists("/usr/sbin/sshd"):
        return "no ssh or sshd on this machine"
    with open("/proc/self/setgroups") as file:
        if os.geteuid() == 0 and file.read().strip() == "deny":
            return "root of this user namespace may not change groups, as sshd must"
    return ""


class Sshd:
    """A private ssh server on loopback that lets this user in by a private key."""

    def __init__(self, names):
        self.folder = tempfile.mkdtemp(prefix="fault-ssh-")
        for key in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.path(key)], check=True)
        shutil.copy(self.path("user.pub"), self.path("authorized"))
        self.port = free_port()
        with open(self.path("sshd_config"), "w") as file:
            file.write(
                f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {self.path('host')}\n"
                f"AuthorizedKeysFile {self.path('authorized')}\nStrictModes no\nUsePAM no\nPidFile none\n"
                f"PermitRootLogin yes\nMaxStartups 100\nSetEnv XDG_CACHE_HOME={self.path('cache')}\n"
            )
        with open(self.path("host.pub")) as file:
            host_key = file.read()
        with open(self.path("known"), "w") as file:
            file.write(f"[127.0.0.1]:{self.port} {host_key}")
        with open(self.path("config"), "w") as file:
            file.write(
                f"Host {' '.join(names)}\n  HostName 127.0.0.1\n  Port {self.port}\n"
                f"  IdentityFile {self.path('user')}\n  IdentitiesOnly yes\n"
                f"  UserKnownHostsFile {self.path('known')}\n"
            )
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", exist_ok=True)
        self.server = subprocess.Popen(["/usr/sbin/sshd", "-D", "-e", "-f", self.path("sshd_config")],
                                       stderr=subprocess.DEVNULL)
        self.agent = f"ssh -F {self.path('config')}"
        try:
            wait_until(self.answers, "the private ssh server")
        except AssertionError:
            self.close()
            raise

    def path(self, name):
        return f"{self.folder}/{name}"

    def answers(self):
        done = subprocess.run([*self.agent.split(), "-o", "BatchMode=yes", "a", "true"],
                              stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        return done.returncode == 0

    def close(self):
        self.server.terminate()
        self.server.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def written_to(log):
    """What is in a file by now. pread: the offset is shared with those who write, and moving it would lose their text."""
    return os.pread(log.fileno(), os.fstat(log.fileno()).st_size, 0).decode(errors="replace")


class Started:
    """A process that runs while the test goes on, and what it says."""

    def __init__(self, command, environment):
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL,
                                        env=environment, start_new_session=True)

    def said(self):
        return written_to(self.log)

    def wait(self, limit_s=LIMIT_S):
        try:
            return self.process.wait(limit_s)
        except subprocess.TimeoutExpired as late:
            raise AssertionError(f"{late}\n{self.said()}") from None


class Job:
    """One prun and everything it starts, marked."""

    count = 0

    def __init__(self, prun, way, program, *, options=(), ranks=4, inside=(), **popen):
        # inside: a command that runs prun somewhere else (in a namespace).
        Job.count += 1
        self.mark = f"{os.getpid()}-{Job.count}"
        # Temporary files of the job would be here.
        self.folder = tempfile.mkdtemp(prefix="job-")
        environment = dict(os.environ, TUTTI_TEST_MARK=self.mark, TMPDIR=self.folder)
        command = [*inside, prun, *way, *options, "-np", str(ranks), "-x", "TUTTI_TEST_MARK", *program]
        self.log = tempfile.TemporaryFile()
        popen.setdefault("stdout", self.log)
        self.prun = subprocess.Popen(command, env=environment, stdin=popen.pop("stdin", subprocess.DEVNULL),
                                     stderr=self.log, start_new_session=True, **popen)

    def said(self):
        return written_to(self.log)

    def ranks(self):
        """Pids of the ranks themselves: a forked daemon's command line is prun's. What a rank's shell forked, and left to
        the daemon perhaps, leads no group before it is another program."""
        return sorted(pid for pid, command in processes_with(self.mark).items()
                      if command.startswith("sh -c") and "trap ''" in command and leads_a_group(pid))

    def daemon(self):
        return parent_of(self.ranks()[0])

    def wait(self):
        return self.prun.wait(LIMIT_S)

    def survivors_gone(self):
        """Waits for the end of every process of the job; how long that took."""
        begin = time.monotonic()
        wait_until(lambda: not processes_with(self.mark),
                   f"the end of {processes_with(self.mark)}\n{self.said()}")
        took = time.monotonic() - begin
        files = os.listdir(self.folder)
        shutil.rmtree(self.folder)
        assert not files, f"temporary files are left: {files}"
        return took

    def kill(self, pid):
        os.kill(pid, signal.SIGKILL)
