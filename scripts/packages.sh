# Sourced by quickstart.sh, test.sh and .ci/run: makes sure the Debian packages are there.
#
#   need_packages FILE...   each FILE lists package names, one a line, # starts a comment
#
# Installs what is missing as root, or through sudo, or stops with the line to type.

need_packages() {
  local missing=() name
  for name in $(sed 's/#.*//' "$@"); do
    dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q ' installed$' || missing+=("$name")
  done
  [ "${#missing[@]}" -eq 0 ] && return 0
  command -v apt-get >/dev/null || {
    echo "missing packages (Debian names): ${missing[*]}; install them and run this again" >&2
    return 1
  }
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
      as_root=(sudo)
    else
      echo "missing packages: as root, run: apt-get install ${missing[*]}" >&2
      return 1
    fi
  fi
  echo "installing ${#missing[@]} packages: ${missing[*]}"
  local log
  log=$(mktemp)
  if ! { "${as_root[@]}" apt-get update && "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
      apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
    tail -n 15 "$log" >&2
    echo "apt-get could not install: ${missing[*]} (whole log: $log)" >&2
    return 1
  fi
  rm -f "$log"
}
