"""A lab: several hosts on this machine, each a network, mount and host-name namespace with a real
ssh server, joined by a bridge in the namespace of a machine called "head". Needs root. All of it
ends with its processes; nothing is named outside of them but one private folder."""
import os
import shutil
import subprocess
import tempfile

from jobs import no_ssh_server, wait_until


def missing():
    """Why there can be no lab here, or nothing."""
    if os.geteuid() != 0:
        return "needs root for namespaces with ssh servers"
    if reason := no_ssh_server():
        return reason
    for tool in ("unshare", "nsenter", "ip"):
        if not shutil.which(tool):
            return f"{tool} is not installed"
    if subprocess.run(["unshare", "-nmu", "true"], capture_output=True).returncode != 0:
        return "namespaces are forbidden here"
    return ""


class Lab:
    def __init__(self, names, noisy=(), deaf=()):
        """noisy: hosts whose shell prints before every command; deaf: no command runs there."""
        self.names = list(names)
        self.folder = tempfile.mkdtemp(prefix="hosts-lab-")
        self.holders, self.servers = {}, {}
        try:
            self.make_files()
            for name in ("head", *self.names):
                self.make_namespace(name)
            self.wire()
            for name in self.names:
                self.start_server(name, name in noisy, name in deaf)
            for name in self.names:
                if name not in deaf:
                    wait_until(lambda host=name: self.answers(host), f"the ssh server of {name}")
        except BaseException:
            self.close()
            raise

    def path(self, name):
        return f"{self.folder}/{name}"

    def address(self, name):
        return f"10.88.0.{1 + (['head'] + self.names).index(name)}"

    def make_files(self):
        for key in ("host", "other", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.path(key)], check=True)
        self.let_in("user")
        self.know("host")
        with open(self.path("hosts"), "w") as file:
            file.write("127.0.0.1 localhost\n")
            file.writelines(f"{self.address(name)} {name}\n" for name in ("head", *self.names))
        with open(self.path("config"), "w") as file:
            file.write(f"Host *\n  IdentityFile {self.path('user')}\n  IdentitiesOnly yes\n"
                       f"  UserKnownHostsFile {self.path('known')}\n  GlobalKnownHostsFile /dev/null\n"
                       f"  StrictHostKeyChecking yes\n")
        self.agent = f"ssh -F {self.path('config')}"
        os.makedirs("/run/sshd", exist_ok=True)

    def let_in(self, key):
        """Only this key may log in from now on."""
        shutil.copy(self.path(f"{key}.pub"), self.path("authorized"))

    def know(self, key, but=()):
        """The head takes this key for every host's; none for those in `but`."""
        with open(self.path(f"{key}.pub")) as file:
            public = file.read()
        with open(self.path("known"), "w") as file:
            file.writelines(f"{name},{self.address(name)} {public}" for name in self.names if name not in but)

    def make_namespace(self, name):
        script = (f"mount --bind {self.path('hosts')} /etc/hosts && hostname {name} && ip link set lo up && "
                  f"echo ready && exec sleep infinity")
        holder = subprocess.Popen(["unshare", "-nmu", "sh", "-c", script], stdout=subprocess.PIPE)
        self.holders[name] = holder
        if holder.stdout.readline() != b"ready\n":
            raise AssertionError(f"cannot make the namespaces of {name}")

    def on(self, name):
        """A command prefix that runs something on this host."""
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

    def start_server(self, name, noisy, deaf, under=()):
        """under: a command that starts the server with limits of its own."""
        config = self.path(f"sshd-{name}")
        with open(config, "w") as file:
            file.write(f"HostKey {self.path('host')}\nAuthorizedKeysFile {self.path('authorized')}\n"
                       f"StrictModes no\nUsePAM no\nPidFile none\nPermitRootLogin yes\nMaxStartups 100\n"
                       f"SetEnv XDG_CACHE_HOME={self.path('cache-' + name)}\n")
            if noisy:
                file.write("ForceCommand echo Welcome, user; echo TUTTI is a word; eval \"$SSH_ORIGINAL_COMMAND\"\n")
            if deaf:
                file.write("ForceCommand echo This account is closed\n")
        self.servers[name] = subprocess.Popen([*self.on(name), *under, "/usr/sbin/sshd", "-D", "-e", "-f", config],
                                              stderr=subprocess.DEVNULL)

    def stop_server(self, name):
        self.servers[name].terminate()
        self.servers[name].wait()

    def answers(self, name):
        done = subprocess.run([*self.on("head"), *self.agent.split(), "-o", "BatchMode=yes", name, "true"],
                              capture_output=True, stdin=subprocess.DEVNULL)
        return done.returncode == 0

    def close(self):
        for process in (*self.servers.values(), *self.holders.values()):
            process.kill()
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
