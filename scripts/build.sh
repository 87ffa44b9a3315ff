# Sourced: configure once, build quietly, show what went wrong.
#
#   configure_tree DIRECTORY [meson options...]
#   build_tree DIRECTORY [meson options...] [-- targets...]   configures as well; no target: all of it

configure_tree() {
  local directory=$1 log=$1.setup.log
  shift
  # Checkouts of the same source share the compiler's cache: paths in it are relative.
  export CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
  [ -f "$directory/build.ninja" ] && return 0
  rm -rf "$directory" # what an interrupted configuration left
  local compiler=(env)
  if command -v ccache >/dev/null && [ -z "${CXX:-}" ]; then
    compiler=(env CC="ccache gcc" CXX="ccache g++")
  fi
  if ! "${compiler[@]}" meson setup "$directory" "$@" >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    echo "meson setup failed (whole log: $log)" >&2
    return 1
  fi
  mv "$log" "$directory/setup.log"
}

# On a terminal ninja shows its own progress; elsewhere a line every quarter of the way.
build_tree() {
  local directory=$1 options=()
  while [ $# -gt 0 ] && [ "$1" != -- ]; do options+=("$1"); shift; done
  [ $# -eq 0 ] || shift # what is left are targets
  configure_tree "${options[@]}" || return 1
  if [ -t 1 ]; then
    ninja -C "$directory" "$@"
    return
  fi
  # Its status goes by way of the log: a pipe that fails would end who sources this (set -e, pipefail).
  { NINJA_STATUS='[%f/%t] ' ninja -C "$directory" "$@" 2>&1 || echo "ninja ended with $?"; } |
    tee "$directory/build.log" |
    awk 'match($0, /^\[[0-9]+\/[0-9]+\]/) {
           split(substr($0, 2, RLENGTH - 2), n, "/"); quarter = int(4 * n[1] / n[2])
           if (quarter > shown) { shown = quarter; print "  built " n[1] " of " n[2]; fflush() } }'
  if grep -q '^ninja ended with' "$directory/build.log"; then
    grep -E -A 12 '^FAILED|error:' "$directory/build.log" | head -n 60 >&2
    echo "the build failed (whole log: $directory/build.log)" >&2
    return 1
  fi
}
