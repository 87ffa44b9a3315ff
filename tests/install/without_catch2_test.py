#!/usr/bin/env python3
"""without_catch2_test.py SOURCES MESON...: where Catch2 is not installed and nothing can be downloaded the
tree configures, says that the tests are left out, and knows how to install all the rest. With TUTTI_TEST_LONG it is
built and installed, and what is installed compiles and starts a program."""
import os
import pathlib
import subprocess
import sys
import tempfile

sources, meson = sys.argv[1], sys.argv[2:]
PROGRAM = "#include <mpi.h>\nint main(void) { MPI_Init(0, 0); MPI_Barrier(MPI_COMM_WORLD); return MPI_Finalize(); }\n"


def run(command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout[-4000:]}")
    return done.stdout


def install(build, prefix, without):
    run(["ninja", "-C", build, "install"], env=without)
    source = pathlib.Path(build) / "program.c"
    source.write_text(PROGRAM)
    run([f"{prefix}/bin/mpicc", str(source), "-o", f"{build}/program"], env=without)
    run([f"{prefix}/bin/prun", "--oversubscribe", "-np", "2", f"{build}/program"], env=without)


with tempfile.TemporaryDirectory() as scratch:
    packages = pathlib.Path(scratch) / "packages"
    packages.mkdir()
    folders = run(["pkg-config", "--variable", "pc_path", "pkg-config"]).strip()
    folders = os.environ.get("PKG_CONFIG_PATH", "").split(":") + folders.split(":")
    for folder in filter(os.path.isdir, folders):
        for found in pathlib.Path(folder).glob("*.pc"):
            if not found.name.startswith("catch2") and not (packages / found.name).exists():
                (packages / found.name).symlink_to(found)
    # CMake knows Catch2, too.
    without = {name: text for name, text in os.environ.items() if name != "PKG_CONFIG_PATH"}
    without |= {"PKG_CONFIG_LIBDIR": str(packages), "CMAKE_PREFIX_PATH": ""}
    native = pathlib.Path(scratch) / "native.ini"
    native.write_text("[binaries]\ncmake = 'no-such-cmake'\n")
    build, prefix = f"{scratch}/build", f"{scratch}/installed"
    said = run(meson + ["setup", build, sources, "--wrap-mode=nodownload", "--native-file", str(native),
                        f"--prefix={prefix}"], env=without)
    if "the tests are left out" not in said:
        sys.exit("the tests are not left out:\n" + said[-4000:])
    planned = run(["ninja", "-C", build, "-n", "install"], env=without)
    if "prun" not in planned or "tests/unit" in planned:
        sys.exit("not what is to be installed:\n" + planned[-4000:])
    if os.environ.get("TUTTI_TEST_LONG"):
        install(build, prefix, without)
        print("built and installed without Catch2")
print("configured without Catch2")
