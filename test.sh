#!/usr/bin/env bash
# Builds what is missing and runs the tests. Ends with 'N passed, N failed, N skipped'.
#
#   ./test.sh                 everything
#   ./test.sh --suite unit    one suite: unit, schedule, plan, ranks, hosts, fault, fuzz, style
#   ./test.sh --sanitize address,undefined   the same tests in a sanitized build
#   ./test.sh --no-install    never call apt-get
set -euo pipefail
cd "$(dirname "$0")"
. scripts/packages.sh
. scripts/build.sh

directory=build
install=yes
setup=(--buildtype=debugoptimized)
arguments=()
while [ $# -gt 0 ]; do
  case "$1" in
    --suite) arguments+=(--suite "$2"); shift 2 ;;
    --sanitize)
      directory=build-${2//,/-}
      setup=(--buildtype=debugoptimized "-Db_sanitize=$2" -Db_lundef=false)
      shift 2 ;;
    --no-install) install=no; shift ;;
    --quick) export TUTTI_TEST_QUICK=1; shift ;;
    -h|--help) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 0 ;;
    *) echo "test.sh: unknown option $1 (see ./test.sh --help)" >&2; exit 2 ;;
  esac
done

[ "$install" = no ] || need_packages scripts/packages.build scripts/packages.test
echo "building in $directory"
build_tree "$directory" "${setup[@]}"

echo "testing"
status=0
meson test -C "$directory" --no-rebuild --print-errorlogs "${arguments[@]}" || status=$?
python3 scripts/count_tests.py "$directory/meson-logs/testlog.json" || status=1
exit "$status"
