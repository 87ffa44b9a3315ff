"""A file system that takes its time, spoken to the kernel as fuse(4) has it; needs root. The first look for each name
that begins with `slow` takes so long and finds nothing; of `program` the second read takes as long: the first is the
look whether it is an MPI program, the second begins it. The first write to `written` takes as long, too."""
import ctypes
import errno
import os
import stat
import struct
import tempfile
import threading

LOOKUP, FORGET, GETATTR, SETATTR, OPEN, READ, WRITE = 1, 2, 3, 4, 14, 15, 16
RELEASE, FLUSH, INIT, OPENDIR, INTERRUPT, BATCH_FORGET = 18, 25, 26, 27, 36, 42
ROOT, PROGRAM, WRITTEN = 1, 2, 3
NODES = {b"program": PROGRAM, b"written": WRITTEN}
TEXT = b"#!/bin/sh\necho it runs\n"
libc = ctypes.CDLL(None, use_errno=True)


class SlowFs:
    def __init__(self, delay_s):
        self.delay_s = delay_s
        self.names, self.reads = set(), 0
        self.late = []  # answers that are due: timers
        self.written = b""  # to WRITTEN
        self.folder = tempfile.mkdtemp(prefix="slow-fs-")
        self.device = os.open("/dev/fuse", os.O_RDWR)
        options = f"fd={self.device},rootmode=40000,user_id=0,group_id=0,allow_other"
        if libc.mount(b"slow", self.folder.encode(), b"fuse", 0, options.encode()) != 0:
            problem = os.strerror(ctypes.get_errno())
            os.close(self.device)
            os.rmdir(self.folder)
            raise OSError(problem)
        threading.Thread(target=self.serve, daemon=True).start()

    def close(self):
        libc.umount2(self.folder.encode(), 2)
        os.rmdir(self.folder)

    def serve(self):
        try:
            while True:
                request = os.read(self.device, 1 << 20)
                _, kind, number, node = struct.unpack_from("<IIQQ", request)
                self.answer(kind, number, node, request[40:])
        except OSError:
            pass  # unmounted

    def reply(self, number, body=b"", error=0):
        try:
            os.write(self.device, struct.pack("<IiQ", 16 + len(body), -error, number) + body)
        except OSError:
            pass  # who asked is gone

    def later(self, number, body=b"", error=0):
        timer = threading.Timer(self.delay_s, self.reply, (number, body, error))
        timer.daemon = True
        self.late.append(timer)
        timer.start()

    def hurry(self):
        """Who waits has the answer now."""
        for timer in self.late:
            timer.cancel()
            timer.function(*timer.args)

    @staticmethod
    def attributes(node):
        mode = stat.S_IFDIR | 0o755 if node == ROOT else stat.S_IFREG | 0o755
        size = len(TEXT) if node == PROGRAM else 0
        return struct.pack("<6Q10I", node, size, 1, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)

    def answer(self, kind, number, node, what):
        if kind == INIT:
            self.reply(number, struct.pack("<IIIIHHIIHHI7I", 7, 31, 4096, 0, 8, 8, 4096, 1, 0, 0, 0, *[0] * 7))
        elif kind in (GETATTR, SETATTR):
            self.reply(number, struct.pack("<QII", 3600, 0, 0) + self.attributes(node))
        elif kind == LOOKUP and what[:7] in NODES:
            found = NODES[what[:7]]
            self.reply(number, struct.pack("<QQQQII", found, 0, 3600, 3600, 0, 0) + self.attributes(found))
        elif kind == LOOKUP:
            first = what.startswith(b"slow") and what not in self.names
            self.names.add(what)
            (self.later if first else self.reply)(number, error=errno.ENOENT)
        elif kind in (OPEN, OPENDIR):
            self.reply(number, struct.pack("<QII", 0, int(node == WRITTEN), 0))  # 1: not through the page cache
        elif kind == WRITE:
            text = what[40:]
            (self.reply if self.written else self.later)(number, struct.pack("<II", len(text), 0))
            self.written += text
        elif kind in (FLUSH, RELEASE):
            self.reply(number)
        elif kind == READ:
            offset, size = struct.unpack_from("<8xQI", what)
            self.reads += 1
            (self.later if self.reads == 2 else self.reply)(number, TEXT[offset:offset + size])
        elif kind not in (FORGET, BATCH_FORGET, INTERRUPT):
            self.reply(number, error=errno.ENOSYS)
