"""For tests of builds that are configured, not built."""
import subprocess
import sys

problems = []


def check(what, good, said):
    print(f"{'ok' if good else 'FAILED'} {what}")
    if not good:
        problems.append(what)
        print(said)


def configured(source, build, *options, before=(), env=None):
    """Exit status of meson setup, behind the words `before`, and what was said."""
    words = [*before, "meson", "setup", build, source, "-Dtests=disabled", "-Dbenchmarks=disabled", *options]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL, check=False,
                          env=env)
    return done.returncode, done.stdout + done.stderr


def end():
    sys.exit(1 if problems else 0)
