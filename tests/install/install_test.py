#!/usr/bin/env python3
"""install_test.py BUILD -- an installed tree works after it was moved.

Installs into a folder, moves it, and then: mpicc and mpicxx compile and run a program, print what
they would do, take another compiler; pkg-config and CMake's own FindMPI find the moved tree.
A part whose tool is absent is skipped with a line. Exit status 1 on a failure.
"""
import os
import shutil
import subprocess
import sys
import tempfile

OLD_PROGRAM = """#include <mpi.h>
#include <stdio.h>
int main(void) {
  MPI_Aint extent = 0;
  MPI_Init(NULL, NULL);
  MPI_Type_extent(MPI_DOUBLE, &extent);
  printf("extent %d\\n", (int)extent);
  return MPI_Finalize();
}
"""
C_PROGRAM = """
#include <mpi.h>
#include <stdio.h>
int main(void) {
  int size = 0;
  MPI_Init(0, 0);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Finalize();
  printf("size %d\\n", size);
  return 0;
}
"""
SERVED_PROGRAM = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
  MPI_Init(NULL, NULL);
  printf("%s %s\\n", getenv("PMI_FD") ? "PMI" : "none", getenv("PMIX_RANK") ? "PMIx" : "none");
  return MPI_Finalize();
}
"""
CMAKE = """
cmake_minimum_required(VERSION 3.16)
project(probe C CXX)
find_package(MPI REQUIRED COMPONENTS C CXX)
message(STATUS "version ${MPI_C_VERSION} mpiexec ${MPIEXEC_EXECUTABLE}")
add_executable(probe_c probe.c)
target_link_libraries(probe_c MPI::MPI_C)
add_executable(probe_cxx probe.cc)
target_link_libraries(probe_cxx MPI::MPI_CXX)
"""


def run(*command, folder=None, env=None):
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit("%s: status %d\n%s%s" % (" ".join(command), done.returncode, done.stdout,
                                          done.stderr))
    return done.stdout


def expect(condition, what):
    if not condition:
        sys.exit("failed: " + what)
    print("ok:", what)


def write(path, text):
    with open(path, "w") as stream:
        stream.write(text)


def clean_environment():
    """As a user has it: nothing that names a launcher or a compiler."""
    return {k: v for k, v in os.environ.items()
            if not k.startswith(("TUTTI_", "OMPI_", "MPICH_", "I_MPI_", "PMI", "CC", "CXX"))}


def compilers(prefix, work, env):
    write(work + "/probe.c", C_PROGRAM)
    write(work + "/probe.cc", C_PROGRAM)
    for wrapper, source in (("mpicc", "probe.c"), ("mpicxx", "probe.cc"), ("mpic++", "probe.cc")):
        tool = os.path.join(prefix, "bin", wrapper)
        run(tool, source, "-o", "program", "-Wall", folder=work, env=env)
        expect(run("./program", folder=work, env=env) == "size 1\n", wrapper + " links and runs")
        run(tool, "-c", source, "-o", "a.o", folder=work, env=env)
        shown = run(tool, "-show", source, "-o", "two words", env=env)
        expect("-lmpi_abi" in shown and prefix in shown, wrapper + " -show")
        expect("-lmpi" not in run(tool, "-compile_info", env=env), wrapper + " -compile_info")
        expect(run(tool, "--showme:incdirs", env=env).strip() == prefix + "/include",
               wrapper + " --showme:incdirs")
    tool = os.path.join(prefix, "bin", "mpicc")
    run(tool, "probe.c", folder=work, env=env)
    expect("--showme:WHAT" in run(tool, "-help", folder=work, env=env), "mpicc -help is the wrapper's help")
    for words, said in ((["--showme:bogus"], "mpicc: --showme:bogus is not known"), (["-O2"], "no input files")):
        done = subprocess.run([tool, *words], cwd=work, env=env, capture_output=True, text=True)
        expect(done.returncode == 1 and said in done.stderr and done.stderr.count("\n") <= 2, "mpicc " + words[0] + " is refused")
    expect(os.path.exists(work + "/a.out"), "questions to mpicc leave a.out as it is")
    told = subprocess.run([tool, "-echo", "-mt_mpi", "probe.c", "-o", "told"], cwd=work, env=env, capture_output=True, text=True)
    expect(told.returncode == 0 and "probe.c -o told" in told.stderr and os.path.exists(work + "/told"),
           "mpicc -echo shows what it runs, and knows Intel's words")
    expect(run(tool, "-show", env=dict(env, I_MPI_CC="icx")).startswith("icx "), "I_MPI_CC is taken")
    named = run(os.path.join(prefix, "bin", "mpicc"), "-show", env=dict(env, TUTTI_CC="other"))
    expect(named.startswith("other "), "TUTTI_CC is taken")
    refuses(tool, work, env)
    link = os.path.join(work, "mpicc")
    os.symlink(os.path.join(prefix, "bin", "mpicc"), link)
    expect(prefix in run(link, "-show", env=env), "a symbolic link to mpicc finds the tree")


def refuses(tool, work, env):
    """What cannot be done is told in one line: a static program, and a compiler that is not there or this wrapper again."""
    path, wrapped = dict(PATH=f"{os.path.dirname(tool)}:{env['PATH']}"), "mpicc: the compiler that it is told to run calls it back"
    loops = {"TUTTI_CC": "mpicc -I/x/y", "OMPI_CC": "env mpicc", "I_MPI_CC": "mpicxx"}
    rows = [("-static", {}, "mpicc: -static: there is no static library of Tutti")]
    rows += [("-Wall", {"TUTTI_CC": name}, "mpicc: there is no compiler nowhere that") for name in ("nowhere", " nowhere -m32")]
    rows += [("-Wall", path | {name: compiler, "TUTTI_CXX": "mpicc"}, wrapped) for name, compiler in loops.items()]
    for word, variables, said in rows:
        done = subprocess.run([tool, word, "probe.c"], cwd=work, env=env | variables, capture_output=True, text=True, timeout=60)
        expect(done.returncode == 1 and done.stderr.startswith(said) and done.stderr.count("\n") == 1,
               f"mpicc {word} {variables.get('TUTTI_CC', '')} is refused in one line")
    for words in ("-static -c probe.c", "-static -print-file-name=libc.a", "-static_mpi -c probe.c"):
        run(tool, *words.split(), folder=work, env=env)
    run(tool, "-cc=mpicc", "probe.c", folder=work, env=env | path)  # which takes the usual one
    run(tool, "probe.c", folder=work, env=env | path | {"TUTTI_CC": "mpicxx"})


def unserved(prefix, work, env):
    """prun knows its own library, by whatever path the program finds it: no server of another MPI."""
    write(work + "/served.c", SERVED_PROGRAM)
    run(os.path.join(prefix, "bin", "mpicc"), "served.c", "-o", "served", folder=work, env=env)
    said = run(os.path.join(prefix, "bin", "prun"), "-np", "2", "./served", folder=work, env=env)
    expect(said == "none none\n" * 2, "a program of ours is offered no server of another MPI")


def sanitized(prefix, work, env):
    """What the library keeps to the end is no leak of a program's that looks for leaks."""
    tool = os.path.join(prefix, "bin", "mpicc")
    write(work + "/trivial.c", "int main(void) { return 0; }\n")
    plain = run(tool, "-show", env=env).split()[0]
    for command in ([plain, "-fsanitize=address", "trivial.c", "-o", "trivial"], ["./trivial"]):
        # The second needs ptrace: so LeakSanitizer stops the program's threads.
        done = subprocess.run(command, cwd=work, env=env, capture_output=True, text=True)
        if done.returncode != 0:
            why = done.stderr.splitlines() or [f"status {done.returncode}"]
            return print("skipped: a program under the address sanitizer:", why[-1])
    run(tool, "-fsanitize=address", "probe.c", "-o", "sanitized", folder=work, env=env)
    said = run(os.path.join(prefix, "bin", "prun"), "-np", "2", "./sanitized", folder=work, env=env)
    expect(said == "size 2\n" * 2, "a program under the address sanitizer has no leaks")


def removed(prefix, work, env):
    """What MPI 3.0 removed: with -mpi1, else the error says what replaces it."""
    write(work + "/old.c", OLD_PROGRAM)
    tool = os.path.join(prefix, "bin", "mpicc")
    run(tool, "-mpi1", "old.c", "-o", "old", folder=work, env=env)
    expect(run("./old", folder=work, env=env) == "extent 8\n", "mpicc -mpi1 has what MPI 3.0 removed")
    refused = subprocess.run([tool, "-c", "old.c"], cwd=work, env=env, capture_output=True, text=True)
    expect(refused.returncode != 0, "without -mpi1 it does not compile")
    if "unavailable" in refused.stderr:  # a compiler that can say so
        expect("use MPI_Type_get_extent, or compile with mpicc -mpi1" in refused.stderr,
               "the error names the replacement")


def packages(prefix, env):
    if shutil.which("pkg-config") is None:
        print("skipped: pkg-config is not installed")
        return
    folders = [folder for folder, _, files in os.walk(prefix) if "mpi.pc" in files]
    env = dict(env, PKG_CONFIG_PATH=folders[0])
    for name in ("mpi", "mpi-c", "mpi-cxx", "tutti"):
        flags = run("pkg-config", "--cflags", "--libs", name, env=env)
        expect("-lmpi_abi" in flags, "pkg-config " + name)


def meson(prefix, work, env):
    """A project that wants just any MPI, beside an Open MPI whose names pkg-config knows."""
    if shutil.which("pkg-config") is None:
        print("skipped: pkg-config is not installed")
        return
    folder = work + "/meson"
    os.makedirs(folder)
    write(folder + "/meson.build", "project('probe', 'c')\nexecutable('probe_c', 'probe.c', dependencies: dependency('mpi'))\n")
    write(folder + "/probe.c", C_PROGRAM)
    names = [found for found, _, files in os.walk(prefix) if "ompi-c.pc" in files]
    run("meson", "setup", "out", folder=folder, env=dict(env, PKG_CONFIG_PATH=names[0]))
    run("meson", "compile", "-C", "out", folder=folder, env=env)
    expect(run(folder + "/out/probe_c", env=env) == "size 1\n", "meson's dependency('mpi') is this one, where it is told")


def cmake(prefix, work, env):
    if shutil.which("cmake") is None:
        print("skipped: cmake is not installed")
        return
    write(work + "/CMakeLists.txt", CMAKE)
    tools, path = prefix + "/bin", dict(PATH=f"{prefix}/bin:{env['PATH']}")
    launcher = f"-DMPIEXEC_EXECUTABLE={tools}/mpiexec"
    compilers = [f"-DMPI_C_COMPILER={tools}/mpicc", f"-DMPI_CXX_COMPILER={tools}/mpicxx"]
    # Those that docs/launcher.md names; another MPI may lie in PATH.
    ways = {"PATH": (path, []), "a variable MPI_HOME": (dict(MPI_HOME=prefix), []), "MPI_HOME": ({}, ["-DMPI_HOME=" + prefix]),
            "CMAKE_PREFIX_PATH": ({}, ["-DCMAKE_PREFIX_PATH=" + prefix]), "mpiexec": ({}, [launcher]),
            "MPI_C_COMPILER": ({}, [*compilers, launcher]), "CC=mpicc": (dict(path, CC="mpicc", CXX="mpicxx"), [])}
    for way, (variables, words) in ways.items():
        shutil.rmtree(work + "/out", ignore_errors=True)
        out = run("cmake", "-S", ".", "-B", "out", *words, folder=work, env=env | variables)
        expect("version 5.0" in out and f"mpiexec {tools}/mpiexec" in out, "FindMPI finds the moved tree by " + way)
        run("cmake", "--build", "out", folder=work, env=env | variables)
        for program in ("probe_c", "probe_cxx"):
            expect(run(work + "/out/" + program, env=env) == "size 1\n", program + " runs")


def fortran(prefix, work, env):
    """None of ours, and none of another MPI's in its place."""
    for name in ("mpifort", "mpif90", "mpif77"):
        done = subprocess.run([f"{prefix}/bin/{name}", "a.f90"], cwd=work, env=env, capture_output=True, text=True)
        expect(done.returncode == 1 and done.stderr.startswith(f"{name}: Tutti has no") and done.stderr.count("\n") == 1
               and "--disable-fortran" in done.stderr,
               name + " says that there is none")
    if shutil.which("cmake") is None or shutil.which("gfortran") is None:
        print("skipped: cmake or gfortran is not installed")
        return
    os.makedirs(work + "/fortran")
    write(work + "/fortran/CMakeLists.txt", "cmake_minimum_required(VERSION 3.16)\nproject(probe C Fortran)\n"
          "find_package(MPI COMPONENTS C Fortran)\n" 'message(STATUS "C ${MPI_C_FOUND} Fortran ${MPI_Fortran_FOUND}")\n')
    env = dict(env, PATH=prefix + "/bin:" + env["PATH"])
    said = run("cmake", "-S", ".", "-B", "out", folder=work + "/fortran", env=env)
    expect("C TRUE Fortran FALSE" in said, "FindMPI takes no Fortran of another MPI beside our C")


def pages(prefix, env):
    """The manual page and what shells complete, under every name of the launcher."""
    for name in ("prun", "mpirun", "mpiexec", "torchrun"):
        with open(f"{prefix}/share/man/man1/{name}.1") as page:
            expect(page.read().startswith(".TH PRUN"), f"the manual page of {name}")
        if shutil.which("man"):
            shown = subprocess.run(["man", "--warnings", "-l", page.name], capture_output=True, text=True,
                                   env=dict(env, MANPAGER="cat", MANWIDTH="80"))
            expect(shown.returncode == 0 and not shown.stderr and "EXIT STATUS" in shown.stdout,
                   f"man shows the page of {name} without a warning {shown.stderr}")
        script = f"{prefix}/share/bash-completion/completions/{name}"
        told = run("bash", "-c", f"source '{script}' && complete -p {name}", env=env)
        expect("_prun" in told, f"bash completes {name}")
    for path in ("zsh/site-functions/_prun", "fish/vendor_completions.d/torchrun.fish"):
        expect(os.path.getsize(f"{prefix}/share/{path}") > 1000, path)
    told = run(prefix + "/bin/mpirun", "--version", env=env)
    expect("Tutti prun" in told and prefix in told and "called as mpirun" in told, "whose mpirun this is")


def main():
    work = tempfile.mkdtemp(prefix="tutti-install-")
    try:
        first, moved = work + "/first", work + "/moved/to a place"
        env = clean_environment()
        run("meson", "install", "-C", sys.argv[1], "--no-rebuild", "--destdir", first, env=env)
        tree = [folder for folder, _, files in os.walk(first) if "mpicc" in files][0]
        os.makedirs(os.path.dirname(moved))
        os.rename(os.path.dirname(tree), moved)
        compilers(moved, work, env)
        unserved(moved, work, env)
        sanitized(moved, work, env)
        removed(moved, work, env)
        pages(moved, env)
        packages(moved, env)
        meson(moved, work, env)
        cmake(moved, work, env)
        fortran(moved, work, env)
        expect("standard ABI" in run(moved + "/bin/tutti-info", env=env), "tutti-info")
        expect("--knobs    every variable" in run(moved + "/bin/tutti-info", "--help", env=env), "tutti-info --help")
    finally:
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
