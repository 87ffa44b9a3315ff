#!/usr/bin/env bash
# From a fresh Debian 12 to ring against tree allreduce over two hosts, with a table and a picture.
#
#   ./quickstart.sh          installs what is missing, builds, runs; again: only runs
#   ./quickstart.sh --full   longer, steadier measurement
#
# The two hosts are made on this machine out of namespaces; no root is needed for them.
set -euo pipefail
cd "$(dirname "$0")"
. scripts/packages.sh
. scripts/build.sh

quick=(--quick)
case "${1:-}" in
  "") ;;
  --full) quick=() ;;
  -h | --help) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 0 ;;
  *) sed -n '2,7s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac

echo "1/3 packages"
need_packages scripts/packages.build scripts/packages.run
echo "2/3 build (build-release/)"
build_tree build-release -Doptimization=2 -Ddebug=false -Dtests=disabled -- \
  launcher/prun/prun launcher/prund/prund benchmarks/allreduce benchmarks/barrier
echo "3/3 ring against tree: allreduce, 4 ranks on hosts a and b"
mkdir -p out
benchmarks/ring_against_tree --build build-release --out out --algorithms \
  default,ring,binomial,double_tree,recursive_doubling "${quick[@]}"
