#!/usr/bin/env python3
"""Files that are no programs: each is told apart in one line, with what to do. Usage: programs_test.py PRUN"""
import os
import shutil
import struct
import sys
import tempfile

from checks import check, result, run

PRUN = os.path.abspath(sys.argv[1])
INTERP, RELOCATABLE = 3, 1


def place(folder, name, content, mode=0o755):
    with open(f"{folder}/{name}", "wb") as file:
        file.write(content)
    os.chmod(f"{folder}/{name}", mode)
    return f"./{name}"


def refused(what, status, said, *words, before=(), **how):
    """One line of prun's says it, and no rank runs."""
    done = run(*before, PRUN, "-np", "2", "--oversubscribe", *words, **how)
    check(what, done.returncode == status and said in done.stderr and done.stderr.count("\n") == 1
          and done.stdout == "", done)


def elf(folder):
    with open(shutil.which("true"), "rb") as file:
        whole = file.read()
    refused("a program that was not written to its end", 126, "not written to its end",
            place(folder, "half", whole[:100]), cwd=folder)
    refused("a program of which hardly anything was written", 126, "not written to its end",
            place(folder, "hardly", whole[:18]), cwd=folder)
    refused("an object file", 126, "it is an object file; link it",
            place(folder, "object", whole[:16] + struct.pack("=H", RELOCATABLE) + whole[18:]), cwd=folder)
    offset, size, count = struct.unpack_from("=Q", whole, 32)[0], *struct.unpack_from("=HH", whole, 54)
    for one in range(count):
        kind, _, at = struct.unpack_from("=IIQ", whole, offset + one * size)
        if kind == INTERP:
            foreign = whole[:at] + b"/no" + whole[at + 3:]
            refused("a program whose loader is missing", 127, "the loader that it names is missing here",
                    place(folder, "foreign", foreign), cwd=folder)
            refused("an interpreter whose loader is missing", 127, f"is there, but cannot be executed itself: {folder}/foreign\n",
                    place(folder, "by-foreign", f"#!{folder}/foreign\n".encode()), cwd=folder)


def scripts(folder):
    refused("the interpreter that is missing is named", 127, "is missing here: /no/such/shell\n",
            place(folder, "script", b"#! /no/such/shell -x\n"), cwd=folder)
    refused("line ends of another system are named", 127, "is missing here: /bin/sh, with the carriage return",
            place(folder, "windows", b"#!/bin/sh\r\necho hi\r\n"), cwd=folder)
    many = [str(i) for i in range(3000)]
    done = run(PRUN, "-np", "1", place(folder, "plain", b"echo $#\n"), *many, cwd=folder)
    check("a script without a first line takes 3000 arguments", done.stdout == "3000\n", done.stderr)


def permissions(folder):
    os.mkdir(f"{folder}/closed")
    place(folder, "closed/inside", b"#!/bin/sh\n")
    os.chmod(f"{folder}/closed", 0)
    # Root may go everywhere, unless it goes without the capability to.
    before = ["setpriv", "--inh-caps=-all", "--bounding-set=-all"] if os.geteuid() == 0 else []
    refused("a script that only the kernel may read", 127, "unreadable: No such file or directory\n",
            place(folder, "unreadable", b"#!/no/such/shell\n", 0o111), cwd=folder, before=before)
    refused("a program in a folder that is closed", 126, "Permission denied at a folder above it",
            "./closed/inside", cwd=folder, before=before)
    refused("a working folder that is closed", 127, "no permission to work in folder", "--wdir", "closed", "true",
            cwd=folder, before=before)
    os.chmod(f"{folder}/closed", 0o755)


def mounted(folder):
    place(folder, "program", b"#!/bin/sh\n")
    os.mkdir(f"{folder}/dev")
    inside = ["unshare", "-rm", "sh", "-c"]
    noexec = f"mount --bind {folder} {folder} && mount -o remount,noexec,bind {folder} && cd {folder} && exec \"$@\""
    if run(*inside, noexec, "sh", "true").returncode != 0:
        return print("skipped mounted noexec: no mount namespaces here")
    refused("a file system that runs no programs", 126, "(mounted noexec)", "./program", before=[*inside, noexec, "sh"])
    bare = f"mount --bind {folder}/dev /dev && exec \"$@\""
    refused("a machine without /dev/null", 212, "cannot open /dev/null: No such file", "--stdin", "none", "echo", "hi",
            before=[*inside, bare, "sh"])


def two_mpis(folder):
    """Two stubs by the names of MPICH's and Open MPI's libraries."""
    compiler = shutil.which("cc")
    if not compiler:
        return print("skipped programs of two MPIs: no compiler here")
    place(folder, "main.c", b"int main(void) { return 0; }\n")
    for name, library in (("one", "libmpi.so.12"), ("other", "libmpi.so.40")):
        for words in (["-shared", "-o", library], ["-Wl,--no-as-needed", library, "-Wl,-rpath," + folder, "-o", name]):
            made = run(compiler, "main.c", *words, f"-Wl,-soname,{library}" if "-shared" in words else "-g", cwd=folder)
            check(f"{name} is made", made.returncode == 0, made)
    refused("programs of two MPIs in one job", 126, "./one is linked to MPICH and ./other to Open MPI", "./one",
            ":", "-np", "1", "./other", cwd=folder)
    done = run(PRUN, "-np", "1", "./one", ":", "-np", "1", "true", "--oversubscribe", cwd=folder)
    check("one beside a program without MPI", done.returncode == 0, done)


with tempfile.TemporaryDirectory(prefix="launcher-") as where:
    for part in (elf, scripts, permissions, two_mpis, mounted):
        part(where)
result()
