"""A rank that prints what torchrun's variables say, and then does what its first argument says."""
import os
import subprocess
import sys
import time

NAMES = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "TORCHELASTIC_RESTART_COUNT")
restart = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
line = ["worker", *[os.environ[name] for name in NAMES], os.environ["MASTER_PORT"], *sys.argv[1:]]
os.write(1, (" ".join(line) + "\n").encode())  # at once: a worker may be stopped at any time
what = sys.argv[1] if len(sys.argv) > 1 else ""
if what == "fail-once" and restart == 0 and os.environ["RANK"] == "1":
    sys.exit(3)
if what == "fail-always" and os.environ["RANK"] == "0":
    sys.exit(4)
if what == "leave" and os.environ["RANK"] == "1":  # something that talks on until a file is there
    subprocess.Popen(["sh", "-c", 'until [ -e "$0" ]; do echo talk; sleep 0.02; done', sys.argv[2]], start_new_session=True)
    sys.exit(3)
if what == "leave":
    time.sleep(1000)
if what == "until":  # a file is there
    while not os.path.exists(sys.argv[2]):
        time.sleep(0.02)
