"""Two hosts of ours, without prun: network namespaces joined by a pair of interfaces. The caller starts itself anew
by `enter()`; then this process is on host A, and Host B's commands come from `b.words`."""
import os
import shutil
import subprocess
import sys

from jobs import wait_until

SKIP = 77
A, B = "10.77.0.1", "10.77.0.2"
MARK = "TUTTI_TEST_TWO_HOSTS"


def enter():
    """In a network namespace of our own; users of this machine stay what they are where we are root."""
    if os.environ.get(MARK):
        return
    if not all(shutil.which(tool) for tool in ("ip", "unshare", "nsenter")):
        print("skipped: two hosts (needs ip, unshare and nsenter)")
        sys.exit(SKIP)
    words = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--net"]
    if subprocess.run([*words, "true"], capture_output=True, check=False).returncode != 0:
        print("skipped: two hosts (no network namespaces here)")
        sys.exit(SKIP)
    os.environ[MARK] = "1"
    os.execvp(words[0], [*words, sys.executable, *sys.argv])


class TwoHosts:
    def __enter__(self):
        self.keeper = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo up; exec sleep 3600"], stdout=subprocess.PIPE)
        self.keeper.stdout.readline()
        self.b = ["nsenter", f"--net=/proc/{self.keeper.pid}/ns/net"]
        run = lambda *words: subprocess.run(words, check=True)  # noqa: E731
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "va", "type", "veth", "peer", "name", "vb", "netns", str(self.keeper.pid))
        run("ip", "addr", "add", f"{A}/24", "dev", "va")
        run("ip", "link", "set", "va", "up")
        for words in (["addr", "add", f"{B}/24", "dev", "vb"], ["link", "set", "vb", "up"], ["link", "set", "lo", "up"]):
            run(*self.b, "ip", *words)
        for where, device in (([], "va"), (self.b, "vb")):  # a new interface has no carrier for up to a second
            wait_until(lambda: "state UP" in subprocess.run([*where, "ip", "-o", "link", "show", device], check=True,
                                                            capture_output=True, text=True).stdout, f"{device} to be up")
        return self

    def __exit__(self, *_):
        self.keeper.kill()
        self.keeper.wait()
