#!/usr/bin/env python3
"""visitors.py KIND FOLDER -- strangers at every port that listens in this network namespace: `idle` ones,
1100 that say nothing; `garbage`, noise over and over; `trickle`, a byte now and then; `storm`, who come and go.
Makes FOLDER/attacked when they stand, and goes on until it is ended."""
import os
import random
import socket
import sys
import time

IDLE, OTHERS = 1100, 120
PART = 300  # connections a process holds


def listeners():
    found = []
    with open("/proc/net/tcp") as file:
        for line in list(file)[1:]:
            address, state = line.split()[1], line.split()[3]
            host, port = address.split(":")
            packed = bytes.fromhex(host)[::-1]
            if state == "0A" and packed[0] != 127:
                found.append((socket.inet_ntoa(packed), int(port, 16)))
    return found


def visit(address):
    one = socket.socket()
    one.settimeout(20)
    try:
        one.connect(address)
    except OSError:
        return None
    one.setblocking(False)
    return one


def tell(one, words):
    try:
        return one.send(words) >= 0
    except BlockingIOError:
        return True
    except OSError:
        return False


def keep_on(kind, address, crowd, chance):
    opening = b"tuttitcp" + bytes([2, 0, 0, 0])
    while True:
        for i, one in enumerate(crowd):
            words = {"garbage": chance.randbytes(chance.randrange(1, 300)),
                     "trickle": opening[:1], "idle": b"", "storm": None}[kind]
            if words is None or (words and not tell(one, words)):
                one.close()
                crowd[i] = visit(address) or one
        time.sleep({"idle": 1, "garbage": 0.01, "trickle": 0.3, "storm": 0.01}[kind])


def main():
    kind, folder = sys.argv[1:]
    chance = random.Random(7)
    while not (doors := listeners()):
        time.sleep(0.01)
    count, crowds = (IDLE if kind == "idle" else OTHERS), []
    for part in range(0, count, PART):
        ready, told = os.pipe()
        if os.fork() == 0:
            address = doors[part // PART % len(doors)]
            crowd = [one for _ in range(min(PART, count - part)) if (one := visit(address))]
            os.write(told, b"x")
            keep_on(kind, address, crowd, chance)
        crowds.append(ready)
    for ready in crowds:
        os.read(ready, 1)
    with open(f"{folder}/attacked", "w"):
        pass
    time.sleep(3600)


main()
