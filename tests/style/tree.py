"""What the style checks share: the tracked files of this checkout, and how they report."""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def files(*suffixes):
    """Tracked (and new, not ignored) files with one of these suffixes, relative to ROOT."""
    command = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\n")
    except (OSError, subprocess.CalledProcessError):  # an unpacked archive: no git
        listed = [str(path.relative_to(ROOT)) for path in ROOT.rglob("*") if path.is_file()]
        listed = [name for name in listed if not name.startswith(("build", ".git/"))]
    return [ROOT / name for name in sorted(listed)
            if name and (not suffixes or name.endswith(suffixes)) and (ROOT / name).is_file()]


def name(path):
    return str(path.relative_to(ROOT))


def finish(problems, checked):
    """Prints every problem; exit status 1 when there is one, or when nothing was checked."""
    for problem in problems:
        print(problem)
    print(f"{checked} checked, {len(problems)} problems")
    sys.exit(1 if problems or not checked else 0)
