"""A rank that says which signals come: at USR2 it ends well, at TERM as well; others it outlives."""
import os
import signal

HEARD = {signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM, signal.SIGALRM}
signal.pthread_sigmask(signal.SIG_BLOCK, HEARD)
rank = os.environ.get("RANK", os.environ.get("SLURM_PROCID"))


def say(words):
    os.write(1, f"{words}\n".encode())


say(f"rank {rank} runs")
while (number := signal.sigwait(HEARD)) in (signal.SIGUSR1, signal.SIGALRM):
    say(f"rank {rank} heard {signal.Signals(number).name}")
say(f"rank {rank} ends by {signal.Signals(number).name}")
