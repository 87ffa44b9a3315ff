#!/usr/bin/env python3
"""without_nvcc_test.py SOURCE -- a build on a machine without nvcc says why GPU memory is left out, and leaves it out.

Every nvcc of this machine is hidden in a mount namespace, and a tree is configured there, not built: what such a build
consists of is built, and run, by tests/gpu/meson.build.
"""
import os
import pathlib
import re
import sys
import tempfile

from configuring import check, configured, end

SKIPPED = 77
HIDE = r"""
for nvcc in $1; do mount --bind "$2" "$nvcc" || exit 77; done
shift 2
exec "$@"
"""


def hidden():
    folders = [*os.environ.get("PATH", "").split(":"), "/usr/local/cuda/bin"]
    return " ".join(f"{folder}/nvcc" for folder in folders if os.path.exists(f"{folder}/nvcc"))


def configured_without(build, *options):
    no_program = build.with_name("no-program")  # others may have made /dev/null one (gcc -o /dev/null, by root)
    no_program.touch(mode=0o600)
    status, said = configured(sys.argv[1], build, *options,
                              before=["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", HIDE, "sh", hidden(),
                                      str(no_program)])
    if status == SKIPPED or (status == 1 and said.startswith("unshare: ")):
        print(f"nvcc cannot be hidden here: {said}")
        sys.exit(SKIPPED)
    return status, said


def main():
    with tempfile.TemporaryDirectory(prefix="nvcc-") as folder:
        build = pathlib.Path(folder) / "auto"
        status, said = configured_without(build)
        check("it is configured", status == 0, said)
        check("it says why GPU memory is left out", "GPU memory is left out: there is no nvcc" in said, said)
        check("and NCCL", re.search("NCCL is left out: there is no CUDA: there is no nvcc", said), said)
        rules = (build / "build.ninja").read_text()
        check("nothing of it is built", "device/absent.cc" in rules and "device/cuda/" not in rules
              and "nccl/absent.cc" in rules and ".ptx" not in rules, "")
        check("and tutti-info will say why", "not built: there is no nvcc" in rules.replace("$", ""), "")
        status, said = configured_without(build.with_name("enabled"), "-Dcuda=enabled")
        check("-Dcuda=enabled is an error that names it", status != 0 and re.search("ERROR: .*nvcc", said), said)
    end()


main()
