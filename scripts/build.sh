# Sourced: configure once, build quietly, show what went wrong.
#
#   build_tree DIRECTORY [meson options...]

build_tree() {
  local directory=$1
  shift
  if [ ! -f "$directory/build.ninja" ]; then
    local compiler=()
    if command -v ccache >/dev/null && [ -z "${CXX:-}" ]; then
      compiler=(env CC="ccache gcc" CXX="ccache g++")
    fi
    if ! "${compiler[@]}" meson setup "$directory" "$@" >"$directory.log" 2>&1; then
      tail -n 20 "$directory.log" >&2
      echo "meson setup failed (whole log: $directory.log)" >&2
      return 1
    fi
    mv "$directory.log" "$directory/setup.log"
  fi
  if [ -t 1 ]; then
    ninja -C "$directory"
  else
    ninja -C "$directory" >"$directory/build.log" 2>&1 || {
      grep -E -A 12 'FAILED|error' "$directory/build.log" | head -n 60 >&2
      echo "the build failed (whole log: $directory/build.log)" >&2
      return 1
    }
  fi
}
