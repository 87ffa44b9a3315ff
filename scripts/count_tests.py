#!/usr/bin/env python3
"""count_tests.py TESTLOG.json...: sums meson's results and prints 'N passed, N failed, N skipped'.

Exit status 1 when a test failed, none ran, or a log is missing (its build failed).
"""
import json
import os
import sys


def main():
    passed = failed = skipped = 0
    for path in sys.argv[1:]:
        if not os.path.exists(path):
            print(f"{path} is missing: nothing was tested there")
            failed += 1
            continue
        with open(path) as log:
            for line in log:
                result = json.loads(line)["result"]
                if result in ("OK", "EXPECTEDFAIL"):
                    passed += 1
                elif result == "SKIP":
                    skipped += 1
                else:
                    failed += 1
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed or not passed else 0)


main()
