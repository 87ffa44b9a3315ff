#!/usr/bin/env python3
"""faults.py check    every fault below still fits the sources
faults.py find     puts each back alone, in a copy, and lets random programs find it

Each was in Tutti once. A random program that no longer finds one has lost its edge. `find` takes an
hour of a small machine (it builds the library once for each fault); ./test.sh --long does it.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIP = 77
SECONDS = 120  # for random programs to find one; most take a few
BASE = "messages,collectives,dup,split,create,free,late"

# Name, features that find it, and for each file what is replaced by what.
FAULTS = [
    ("a value that a copy function has deleted is copied", "mean_attributes", {
        "bindings/mpi/attributes.cc": [
            ("Code copy_attribute(const Carrier& from,",
             "std::map<int, const Value*> snapshot;\nCode copy_attribute(const Carrier& from,"),
            ("  const Value* const value = value_at(from, number);\n"
             "  if (value == nullptr) return Code::ok;  // another key's function has deleted it\n",
             "  const Value* const value = snapshot[number];\n"),
            ("  std::vector<int> before;  // a copy function may delete and add others\n",
             "  snapshot.clear();\n  std::vector<int> before;\n"
             "  for (const auto& [number, value] : from.values)\n"
             "    snapshot[number] = static_cast<Value*>(value);\n")]}),
    ("a key that its copy function frees is gone at once", "mean_attributes", {
        "bindings/mpi/attributes.cc": [
            ("    ++keys().at(number).uses;\n  }\n  ~InUse() { unuse(number_); }", "  }\n  ~InUse() {}")]}),
    ("arguments that are not significant are passed on", "garbage", {
        "bindings/mpi/gen/wrappers.py": [
            ('        return "(%s) ? %s : %s" % (absent, nothing, value) if absent else value',
             "        return value")]}),
]


def replaced(text, changes):
    for old, new in changes:
        if text.count(old) != 1:
            return None
        text = text.replace(old, new)
    return text


def check():
    problems = [f"{name}: its lines are not in {path} as they were; say how it is put back now"
                for name, _, files in FAULTS for path, changes in files.items()
                if replaced((ROOT / path).read_text(), changes) is None]
    print("\n".join(problems) or f"{len(FAULTS)} faults can be put back")
    return 1 if problems else 0


def build(copy):
    targets = ["launcher/prun/prun", "launcher/prund/prund", "tests/random/random_program"]
    subprocess.run(["ninja", "-C", str(copy / "build"), *targets], check=True, stdout=subprocess.DEVNULL)


def finds(copy, features):
    for link in ("shm", "tcp", "hosts"):
        done = subprocess.run([sys.executable, str(copy / "tests/random/run.py"), str(copy / "build/launcher/prun/prun"),
                               str(copy / "build/tests/random/random_program"), link, "--seconds", str(SECONDS),
                               "--features", f"{BASE},{features}"], capture_output=True, text=True)
        if done.returncode not in (0, SKIP):
            return (done.stdout.strip().splitlines() or ["it ended"])[-1]
    return ""


def find():
    kept = []
    with tempfile.TemporaryDirectory(prefix="random-faults-") as folder:
        copy = pathlib.Path(folder) / "tree"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns("build*", ".git", "out"))
        command = '. scripts/build.sh && configure_tree build -Doptimization=2 -Ddebug=false -Dbenchmarks=disabled'
        subprocess.run(["bash", "-c", command], cwd=copy, check=True)
        build(copy)
        for name, features, files in FAULTS:
            before = {path: (copy / path).read_text() for path in files}
            for path, changes in files.items():
                (copy / path).write_text(replaced(before[path], changes))
            build(copy)
            how = finds(copy, features)
            print(f"{name}: {how or 'NOT FOUND'}", flush=True)
            kept += [] if how else [name]
            for path, text in before.items():
                (copy / path).write_text(text)
    return 1 if kept else 0


def main():
    if sys.argv[1:] == ["check"]:
        sys.exit(check())
    if "TUTTI_TEST_LONG" not in os.environ:
        print("skipped: only with --long")
        sys.exit(SKIP)
    sys.exit(find())


main()
