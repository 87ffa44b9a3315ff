#!/usr/bin/env bash
# Builds what is missing and runs the tests. Ends with 'N passed, N failed, N skipped'.
#
#   ./test.sh                 everything
#   ./test.sh --suite unit    one suite (docs/testing.md lists them): unit, ranks, hosts, style ...
#   ./test.sh --only "p2p comm"   tests by name
#   ./test.sh --quick         what CI runs: shorter sweeps, a part of other projects' suites
#   ./test.sh --long          everything whole and drawn anew; four to five hours (docs/testing.md)
#   ./test.sh --sanitize address,undefined   the same tests in a sanitized build (or: thread)
#   ./test.sh --build-only    builds what the tests of these suites need, and runs none (with --suite)
#   ./test.sh --no-install    never call apt-get
set -euo pipefail
cd "$(dirname "$0")"
. scripts/packages.sh
. scripts/build.sh

directory=build
install=yes
setup=(-Doptimization=2 -Ddebug=false -Dtests=enabled)
suites=()
names=()
build_only=
# Most tests wait; those that keep all cores busy run alone.
arguments=(--num-processes $((2 * $(nproc))))
while [ $# -gt 0 ]; do
  case "$1" in
    --suite)
      [ $# -ge 2 ] || { echo "test.sh: --suite needs a name" >&2; exit 2; }
      suites+=("$2"); shift 2 ;;
    --only)
      [ $# -ge 2 ] || { echo "test.sh: --only needs names of tests" >&2; exit 2; }
      read -r -a more <<<"$2"; names+=("${more[@]}"); shift 2 ;;
    --build-only) build_only=yes; shift ;;
    --sanitize)
      [ $# -ge 2 ] || { echo "test.sh: --sanitize needs a list such as address,undefined" >&2; exit 2; }
      directory=build-${2//,/-}
      # Line numbers, no more, and without what the address sanitizer sees as well (null pointers, ends of
      # objects): a third of the compiler's time. Eight sources of a library are compiled as one (unity), which is
      # another third of those; whether a member's type is of this file or a header is not known then.
      setup=(-Doptimization=1 -Ddebug=false -Dtests=enabled -Dchecks=all "-Db_sanitize=$2" -Db_lundef=false
        -Dbenchmarks=disabled -Dunity=on -Dunity_size=8
        "-Dcpp_args=-g1 -fno-sanitize=null,object-size -Wno-subobject-linkage")
      # UCX is not built for it and cannot run beside it.
      case "$2" in *thread*) setup+=(-Ducx=disabled) ;; esac
      arguments+=(--timeout-multiplier 5)
      export TSAN_OPTIONS="suppressions='$PWD/tests/support/thread_sanitizer.supp'"
      # Undefined behaviour would print a line and go on.
      export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
      shift 2 ;;
    --no-install) install=no; shift ;;
    --quick) export TUTTI_TEST_QUICK=1; shift ;;
    --long) # what the environment sets stays
      export TUTTI_TEST_LONG=1 TUTTI_TEST_FUZZ_SECONDS="${TUTTI_TEST_FUZZ_SECONDS:-120}"
      export TUTTI_TEST_FUZZ_FIRST="${TUTTI_TEST_FUZZ_FIRST:-$RANDOM$RANDOM$RANDOM}"
      arguments+=(--timeout-multiplier 10); shift ;;
    -h|--help) sed -n '2,12s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "test.sh: unknown option $1 (see ./test.sh --help)" >&2; exit 2 ;;
  esac
done

if [ "$install" = yes ]; then
  need_packages scripts/packages.build
  need_packages scripts/packages.test || echo "going on: tests that need these are skipped"
fi
echo "building in $directory"
if [ "$build_only" = yes ]; then
  [ "${#suites[@]}" -gt 0 ] || { echo "test.sh: --build-only needs --suite" >&2; exit 2; }
  configure_tree "$directory" "${setup[@]}"
  mapfile -t targets < <(python3 scripts/test_targets.py "$directory" "$(IFS=,; echo "${suites[*]}")" "${names[@]}")
  [ "${#targets[@]}" -gt 0 ] || exit 1
  build_tree "$directory" "${setup[@]}" -- "${targets[@]}"
  exit
elif [ "${#suites[@]}" -eq 0 ] && [ "${#names[@]}" -eq 0 ]; then
  build_tree "$directory" "${setup[@]}"
  arguments+=(--no-rebuild)
else # meson builds what these suites need, no more
  configure_tree "$directory" "${setup[@]}"
fi
for suite in "${suites[@]}"; do arguments+=(--suite "$suite"); done

echo "testing"
rm -f "$directory/meson-logs/testlog.json"
status=0
meson test -C "$directory" --print-errorlogs "${arguments[@]}" "${names[@]}" || status=$?
python3 scripts/count_tests.py "$directory/meson-logs/testlog.json" || status=1
exit "$status"
