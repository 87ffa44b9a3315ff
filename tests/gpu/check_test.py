#!/usr/bin/env python3
"""check_test.py SCRIPT -- without a GPU gpu_check says so, in its file, too, and by its status."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile


def main():
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out.json"
        # A machine with one hides it.
        environment = dict(os.environ, CUDA_VISIBLE_DEVICES="-1")
        done = subprocess.run([sys.executable, sys.argv[1], out], capture_output=True, text=True,
                              timeout=50, env=environment, check=False)
        print(done.stdout + done.stderr)
        assert done.returncode == 77, done.returncode
        assert done.stdout.splitlines()[-1].startswith("gpu_check: there is no GPU here: "), done.stdout
        assert json.loads(out.read_text())["skipped"][0]["why"] in done.stdout


main()
