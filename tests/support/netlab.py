"""Machines on this machine: each a network, mount and host-name namespace, joined by a bridge in the
namespace of one called "head". Needs root. They end with their processes; nothing is named outside of
them but one private folder."""
import os
import shutil
import subprocess
import tempfile


def missing_namespaces():
    """Why there can be no such machines here, or nothing."""
    if os.geteuid() != 0:
        return "needs root for namespaces"
    for tool in ("unshare", "nsenter", "ip"):
        if not shutil.which(tool):
            return f"{tool} is not installed"
    if subprocess.run(["unshare", "-nmu", "true"], capture_output=True).returncode != 0:
        return "namespaces are forbidden here"
    return ""


class Machines:
    def __init__(self, names, prefix):
        self.names = list(names)
        self.folder = tempfile.mkdtemp(prefix=prefix)
        self.holders = {}

    def make(self):
        with open(self.path("hosts"), "w") as file:
            file.write("127.0.0.1 localhost\n")
            file.writelines(f"{self.address(name)} {name}\n" for name in ("head", *self.names))
        for name in ("head", *self.names):
            self.make_namespace(name)
        self.wire()

    def path(self, name):
        return f"{self.folder}/{name}"

    def address(self, name):
        return f"10.88.0.{1 + (['head'] + self.names).index(name)}"

    def make_namespace(self, name):
        script = (f"mount --bind {self.path('hosts')} /etc/hosts && hostname {name} && ip link set lo up && "
                  f"echo ready && exec sleep infinity")
        holder = subprocess.Popen(["unshare", "-nmu", "sh", "-c", script], stdout=subprocess.PIPE)
        self.holders[name] = holder
        if holder.stdout.readline() != b"ready\n":
            raise AssertionError(f"cannot make the namespaces of {name}")

    def on(self, name):
        """A command prefix that runs something on this machine."""
        return ["nsenter", "-t", str(self.holders[name].pid), "-n", "-m", "-u", "--"]

    def run_on(self, name, *command, **more):
        return subprocess.run([*self.on(name), *command], check=True, **more)

    def wire(self):
        self.run_on("head", "ip", "link", "add", "br0", "type", "bridge")
        self.run_on("head", "ip", "addr", "add", f"{self.address('head')}/24", "dev", "br0")
        self.run_on("head", "ip", "link", "set", "br0", "up")
        for name in self.names:
            self.run_on("head", "ip", "link", "add", f"to-{name}", "type", "veth", "peer", "name", "eth0",
                        "netns", str(self.holders[name].pid))
            self.run_on("head", "ip", "link", "set", f"to-{name}", "master", "br0", "up")
            self.run_on(name, "ip", "addr", "add", f"{self.address(name)}/24", "dev", "eth0")
            self.run_on(name, "ip", "link", "set", "eth0", "up")

    def close(self):
        for holder in self.holders.values():
            holder.kill()
            holder.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
