"""A lab: several machines made of namespaces (tests/support/netlab.py), each with a real ssh server."""
import os
import shutil
import subprocess

from jobs import no_ssh_server, wait_until
from netlab import Machines, missing_namespaces


def missing():
    """Why there can be no lab here, or nothing."""
    if os.geteuid() != 0:
        return "needs root for namespaces with ssh servers"
    return no_ssh_server() or missing_namespaces()


class Lab(Machines):
    def __init__(self, names, noisy=(), deaf=()):
        """noisy: hosts whose shell prints before every command; deaf: no command runs there."""
        super().__init__(names, "hosts-lab-")
        self.servers = {}
        try:
            self.make_files()
            self.make()
            for name in self.names:
                self.start_server(name, name in noisy, name in deaf)
            for name in self.names:
                if name not in deaf:
                    wait_until(lambda host=name: self.answers(host), f"the ssh server of {name}")
        except BaseException:
            self.close()
            raise

    def make_files(self):
        for key in ("host", "other", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.path(key)], check=True)
        self.let_in("user")
        self.know("host")
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
        for process in self.servers.values():
            process.kill()
            process.wait()
        super().close()
