"""A real Grid Engine: a master and two execution hosts in a lab's namespaces, from Debian's packages,
which are unpacked into a folder and laid over each host's /usr/lib; nothing is installed."""
import os
import pathlib
import re
import subprocess

from jobs import wait_until

PACKAGES = ["gridengine-master", "gridengine-exec", "gridengine-client", "gridengine-common", "libjemalloc2"]
PROGRAMS = "/usr/lib/gridengine"  # the path that they know of each other

BOOTSTRAP = """admin_user none
default_domain none
ignore_fqdn false
spooling_method classic
spooling_lib libspoolc
spooling_params {common};{folder}/qmaster
binary_path {root}/bin
qmaster_spool_dir {folder}/qmaster
security_mode none
listener_threads 2
worker_threads 2
scheduler_threads 1
"""
ENVIRONMENT = """pe_name mpi
slots 999
user_lists NONE
xuser_lists NONE
start_proc_args NONE
stop_proc_args NONE
allocation_rule $round_robin
control_slaves TRUE
job_is_first_task FALSE
urgency_slots min
accounting_summary FALSE
qsort_args NONE
"""


class Unreachable(Exception):
    """The packages cannot be had here; the text says why."""


def unpacked(place):
    """The folder into which the packages are unpacked; made once."""
    place.mkdir(parents=True, exist_ok=True)
    root = place / "root"
    if (place / "made").exists():
        return root
    got = subprocess.run(["apt-get", "download", *PACKAGES], cwd=place, capture_output=True, text=True)
    if got.returncode != 0:
        raise Unreachable("Debian's packages of Grid Engine cannot be fetched (apt-get update)")
    for package in place.glob("*.deb"):
        subprocess.run(["dpkg", "-x", package, root], check=True)
    (place / "made").touch()
    return root


def settings(text, **values):
    """Grid Engine's own defaults, with some values changed."""
    for name, value in values.items():
        text, found = re.subn(rf"^{name}\s.*$", f"{name} {value}", text, flags=re.M)
        assert found == 1, f"Grid Engine knows no {name}"
    return text


class GridEngine:
    """Queues jobs of the parallel environment "mpi" on the lab's hosts, two slots each."""

    def __init__(self, lab, packages):
        self.lab, self.packages = lab, packages
        self.folder = pathlib.Path(lab.folder) / "grid"
        self.processes = []
        root, common = self.folder / "root", self.folder / "root/default/common"
        for folder in (common, self.folder / "qmaster/job_scripts", self.folder / "execd"):
            folder.mkdir(parents=True)
        for name in ("bin", "utilbin", "lib"):
            (root / name).mkdir()
            (root / name / "lx-amd64").symlink_to(PROGRAMS)
        (root / "util").symlink_to(packages / "usr/share/gridengine/util")
        (common / "bootstrap").write_text(BOOTSTRAP.format(common=common, folder=self.folder, root=root))
        (common / "act_qmaster").write_text("head\n")
        self.environment = dict(
            os.environ, SGE_ROOT=str(root), SGE_CELL="default", SGE_QMASTER_PORT="6444", SGE_EXECD_PORT="6445",
            SGE_ND="1", PATH=f"{PROGRAMS}:{os.environ['PATH']}",
            LD_LIBRARY_PATH=f"{PROGRAMS}:{packages}/usr/lib/x86_64-linux-gnu")
        for host in ("head", *lab.names):
            lab.run_on(host, "mount", "-t", "overlay", "overlay", "-o", f"lowerdir={packages}/usr/lib:/usr/lib", "/usr/lib")
        try:
            self.start_master(f"{common};{self.folder}/qmaster")
            self.start_hosts()
        except BaseException:
            self.close()
            raise

    def run(self, *command, check=True):
        done = subprocess.run([*self.lab.on("head"), *command], env=self.environment, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=120)
        if check and done.returncode != 0:
            raise AssertionError(f"{' '.join(command)}: {done.stdout}{done.stderr}")
        return done

    def start(self, host, program):
        log = open(self.folder / f"{program}-{host}.log", "w")
        self.processes.append(subprocess.Popen([*self.lab.on(host), f"{PROGRAMS}/{program}"], env=self.environment,
                                               stdout=log, stderr=log))

    def file(self, name, text):
        (self.folder / name).write_text(text)
        return str(self.folder / name)

    def start_master(self, spool):
        share = self.packages / "usr/share/gridengine"
        text = settings((share / "default-configuration").read_text(), execd_spool_dir=self.folder / "execd", min_uid=0,
                        min_gid=0, mailer="/bin/true", xterm="/bin/true", load_report_time="00:00:05")
        self.run(f"{PROGRAMS}/spoolinit", "classic", "libspoolc", spool, "init")
        for what, source in (("configuration", self.file("configuration", text)),
                             ("complexes", f"{share}/util/resources/centry"),
                             ("usersets", f"{share}/util/resources/usersets"), ("managers", "root")):
            self.run(f"{PROGRAMS}/spooldefaults.bin", what, source)
        self.start("head", "sge_qmaster")
        wait_until(lambda: self.run("qconf", "-sh", check=False).returncode == 0, "Grid Engine's master")

    def start_hosts(self):
        for host in self.lab.names:
            self.run("qconf", "-ah", host)
        self.run("qconf", "-as", "head")
        self.run("qconf", "-Msconf", self.file("scheduler", settings(
            self.run("qconf", "-ssconf").stdout, schedule_interval="0:0:1", flush_submit_sec=1, flush_finish_sec=1)))
        for host in self.lab.names:
            self.start(host, "sge_execd")
        self.run("qconf", "-Ahgrp", self.file("group", f"group_name @allhosts\nhostlist {' '.join(self.lab.names)}\n"))
        self.run("qconf", "-Ap", self.file("environment", ENVIRONMENT))
        self.run("qconf", "-Aq", self.file("queue", settings(
            self.run("qconf", "-sq").stdout, qname="all.q", hostlist="@allhosts", pe_list="mpi", slots=2,
            load_thresholds="NONE", shell="/bin/sh")))
        wait_until(lambda: self.run("qhost").stdout.count("lx-amd64") == len(self.lab.names), "the execution hosts")

    def submit(self, *command, wait=True):
        """(status of the job, what it wrote); without waiting, its number."""
        output = self.folder / "output"
        output.unlink(missing_ok=True)
        done = self.run("qsub", "-terse", *(["-sync", "y"] if wait else []), "-V", "-pe", "mpi", "4", "-b", "y",
                        "-shell", "n", "-j", "y", "-o", str(output), *command, check=False)
        if not wait:
            return done.stdout.strip()
        if not done.stdout.strip().isdigit() or not output.exists():
            raise AssertionError(f"qsub: {done.stdout}{done.stderr}")
        return done.returncode, output.read_text()

    def close(self):
        self.run("qconf", "-kej", "all", check=False)  # with the jobs that still run
        self.run("qconf", "-km", check=False)
        for process in self.processes:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
