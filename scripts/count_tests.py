#!/usr/bin/env python3
"""count_tests.py TESTLOG.json...: sums meson's results and prints 'N passed, N failed, N skipped'.

Before that, once more, what failed and the end of what it said: who sees a part of a long log sees its end.
Exit status 1 when a test failed, none ran, or a log is missing (its build failed).
"""
import json
import os
import sys

LINES_OF_A_FAILURE = 40


def main():
    passed = failed = skipped = 0
    for path in sys.argv[1:]:
        if not os.path.exists(path):
            print(f"{path} is missing: nothing was tested there")
            failed += 1
            continue
        with open(path) as log:
            for line in log:
                test = json.loads(line)
                result = test["result"]
                if result in ("OK", "EXPECTEDFAIL"):
                    passed += 1
                elif result == "SKIP":
                    skipped += 1
                else:
                    failed += 1
                    print(f"failed: {test['name']} ({result}, {test['duration']:.0f} s)")
                    said = (test.get("stdout", "") + test.get("stderr", "")).splitlines()
                    print("\n".join("    " + line for line in said[-LINES_OF_A_FAILURE:]))
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed or not passed else 0)


main()
