"""Makes torch's wheel importable on a machine without a GPU and without its 2 GB of CUDA wheels.

The wheel's libraries name CUDA libraries with immediate binding. Each one that is missing is built
here as a small library that defines what torch wants of it, under the versions it wants; a call of
any of it returns 100 (CUDA's "no device").
"""
import collections
import re
import subprocess

NO_DEVICE = 100


def readelf(library, *words):
    return subprocess.run(["readelf", "-W", *words, str(library)], capture_output=True, text=True,
                          check=True).stdout


def needed(library):
    return re.findall(r"\(NEEDED\).*\[(.+)\]", readelf(library, "-d"))


def symbols(library):
    """(defined, undefined): names, and for the undefined ones (name, version or None)."""
    defined, undefined = set(), set()
    for line in readelf(library, "--dyn-syms").splitlines():
        words = line.split()
        if len(words) < 8 or not words[0].rstrip(":").isdigit():
            continue
        binding, section, (name, _, version) = words[4], words[6], words[7].partition("@")
        if section != "UND":
            defined.add(name)
        elif binding == "GLOBAL":
            undefined.add((name, version.lstrip("@") or None))
    return defined, undefined


def version_homes(library):
    """Which library each wanted version belongs to."""
    homes, file = {}, None
    for line in readelf(library, "-V").splitlines():
        found = re.search(r"File: (\S+)", line)
        file = found.group(1) if found else file
        found = re.search(r"Name: (\S+)\s+Flags", line)
        if found and file:
            homes[found.group(1)] = file
    return homes


def wanted(folder):
    """For each missing library: what it must define, as (name, version) pairs."""
    libraries = sorted(folder.glob("*.so*"))
    present = {library.name for library in libraries}
    system = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    named = {name for library in libraries for name in needed(library)} - present
    known = {name for name in named if f"\t{name} " in system and not re.match(r"lib(cu|nv|nccl)", name)}
    missing = sorted(named - known)
    defined = set().union(*(symbols(library)[0] for library in libraries))
    wants = collections.defaultdict(set, {name: set() for name in missing})
    for library in libraries:
        homes = version_homes(library)
        for name, version in symbols(library)[1]:
            home = homes.get(version) if version else None
            if home in wants:
                wants[home].add((name, version))
            elif version is None and name not in defined and re.match(r"_?(cu|nv|nccl)", name):
                wants[missing[0]].add((name, None))
    return wants


def build(name, pairs, target):
    versions = sorted({version for _, version in pairs if version})
    source = [f"int {symbol}(void) {{ return {NO_DEVICE}; }}" for symbol in sorted({pair[0] for pair in pairs})]
    script = ["{};".format(f"{version} {{ global: " + " ".join(
        f"{symbol};" for symbol, its in sorted(pairs) if its == version) + " }") for version in versions]
    (target / "stub.c").write_text("\n".join(source) + "\n")
    (target / "stub.map").write_text("\n".join(script) + "\n")
    words = [f"-Wl,--version-script={target}/stub.map"] if versions else []
    subprocess.run(["gcc", "-shared", "-fPIC", "-w", "-fno-builtin", f"-Wl,-soname,{name}", *words, "-o",
                    str(target / name), str(target / "stub.c")], check=True)


def make(folder, target):
    """Fills the folder `target` with what the libraries of the folder `folder` miss."""
    target.mkdir(parents=True, exist_ok=True)
    for name, pairs in wanted(folder).items():
        build(name, pairs, target)
