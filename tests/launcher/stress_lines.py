"""Lines of the stress test, the same for who writes and who judges."""
import random

LONG = 5  # so many of a rank's own first lines may be long: nobody else writes into its pipe yet


def line_of(name, counter):
    """`NAME COUNTER PAYLOAD`, at most PIPE_BUF but for the first: writers that share a pipe do not tear it."""
    sizes = [0, 1, 10, 100, 1000, 4000]
    if counter < LONG and name.split(".")[1] in ("1", "2"):
        sizes += [70000, 300000]
    return f"{name} {counter} {'x' * random.Random(f'{name} {counter}').choice(sizes)}"
