"""A private Slurm cluster on this machine: munged, slurmctld, and a slurmd a node. Each node, and the
machine called "head" where slurmctld runs and jobs are submitted, has a network, a host name and a
mount namespace of its own (tests/support/netlab.py), so that ports and names are nobody else's, and a
node is a machine for whoever looks. Its nodes' names carry a tag: several clusters share the control
groups of this kernel."""
import os
import secrets
import shutil
import signal
import subprocess

from jobs import wait_until
from netlab import Machines, missing_namespaces

CONTROLLER, NODE = 6817, 6818
TOOLS = ("/usr/sbin/slurmctld", "/usr/sbin/slurmd", "/usr/sbin/munged", "salloc", "sbatch", "srun", "scancel",
         "scontrol", "squeue", "sinfo")
CONFIGURATION = """ClusterName=test
SlurmctldHost=head({head})
SlurmctldPort={controller}
SlurmdPort={node}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
TmpFS={folder}/%n
SlurmctldPidFile={folder}/ctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/ctld.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/{proctrack}
TaskPlugin=task/none
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SwitchType=switch/none
GresTypes=gpu
KillWait=60
{nodes}PartitionName=all Nodes={list} Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
"""


def missing():
    """Why there can be no cluster here, or nothing."""
    for tool in TOOLS:
        if not shutil.which(tool):
            return f"{tool} is not installed"
    return missing_namespaces()


def can_freeze():
    """Whether proctrack/cgroup, which clusters use, works here: the freezer of cgroups, version 1."""
    return os.access("/sys/fs/cgroup/freezer", os.W_OK)


class Cluster(Machines):
    CPUS, GPUS = 4, 2  # of each node

    def __init__(self, nodes, proctrack):
        tag = secrets.token_hex(2)
        super().__init__([f"t{tag}n{i + 1}" for i in range(nodes)], "slurm-test-")
        os.chmod(self.folder, 0o755)
        self.processes = []
        try:
            self.make()
            self.make_files(proctrack)
            self.environment = {name: value for name, value in os.environ.items() if not name.startswith("SLURM")}
            self.environment.update(SLURM_CONF=self.path("slurm.conf"), HOME=self.path("home"))
            self.start_daemons()
        except BaseException:
            self.close()
            raise

    def make_files(self, proctrack):
        for name in ("state", "munge", "home", *self.names):
            os.mkdir(self.path(name))
        with open(self.path("munge/key"), "wb") as file:
            file.write(os.urandom(128))
        subprocess.run(["chown", "-R", "munge:munge", self.path("munge")], check=True)
        subprocess.run(["chmod", "0400", self.path("munge/key")], check=True)
        nodes = "".join(f"NodeName={name} NodeAddr={self.address(name)} CPUs={self.CPUS} Gres=gpu:{self.GPUS} "
                        f"State=UNKNOWN\n" for name in self.names)
        with open(self.path("slurm.conf"), "w") as file:
            file.write(CONFIGURATION.format(head=self.address("head"), controller=CONTROLLER, node=NODE,
                                            folder=self.folder, proctrack=proctrack, nodes=nodes,
                                            list=",".join(self.names)))
        with open(self.path("cgroup.conf"), "w") as file:
            file.write("CgroupPlugin=cgroup/v1\n")
        for i in range(self.GPUS):
            subprocess.run(["mknod", self.path(f"gpu{i}"), "c", "1", "3"], check=True)  # slurmd wants a device
        with open(self.path("gres.conf"), "w") as file:
            file.write(f"Name=gpu File={self.path('gpu')}[0-{self.GPUS - 1}]\n")

    def start_daemons(self):
        self.start("head", "runuser", "-u", "munge", "--", "/usr/sbin/munged", "-F", "--key-file",
                   self.path("munge/key"), "--socket", self.path("munge/socket"), "--pid-file",
                   self.path("munge/pid"), "--log-file", self.path("munge/log"), "--seed-file",
                   self.path("munge/seed"), "--force")
        wait_until(lambda: os.path.exists(self.path("munge/socket")), "munged")
        self.start("head", "/usr/sbin/slurmctld", "-D")
        for name in self.names:
            self.start(name, "/usr/sbin/slurmd", "-D", "-N", name)
        wait_until(lambda: self.run("sinfo", "-h", "-o", "%t %D").stdout.split() == ["idle", str(len(self.names))],
                   "idle nodes")

    def start(self, where, *command):
        with open(self.path(f"{len(self.processes)}.out"), "w") as log:
            self.processes.append(subprocess.Popen([*self.on(where), *command], env=self.environment, stdout=log,
                                                   stderr=log, stdin=subprocess.DEVNULL))

    def run(self, *command, **more):
        """On the head, to its end."""
        return subprocess.run([*self.on("head"), *command], env=dict(self.environment, **more), capture_output=True,
                              text=True, timeout=240, stdin=subprocess.DEVNULL)

    def close(self):
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.kill_steps()
        super().close()
        self.remove_control_groups()

    def kill_steps(self):
        """A slurmstepd, which slurmd does not end, goes on looking for a controller that is gone."""
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    is_own = f"SLURM_CONF={self.path('slurm.conf')}\0".encode() in file.read()
                with open(f"/proc/{name}/comm") as file:
                    if is_own and file.read().startswith("slurmstepd"):
                        os.kill(int(name), signal.SIGKILL)
            except OSError:
                continue

    def remove_control_groups(self):
        """slurmd leaves its empty group behind."""
        for name in self.names:
            try:
                os.rmdir(f"/sys/fs/cgroup/freezer/slurm_{name}")
            except OSError:
                pass
