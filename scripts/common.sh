# What scripts/demo, scripts/test and scripts/sweep share: packages and stages. Sourced, not run.
# shellcheck shell=bash
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
processors=$(nproc)

# install_packages GROUP...: installs what scripts/packages.txt lists for the groups and is not there yet.
# Leaves apt alone when nothing is missing.
install_packages() {
  local missing=() group package why wanted
  wanted=" $* "
  while read -r group package why; do
    [[ -z $group || $group == \#* || $wanted != *" $group "* ]] && continue
    # shellcheck disable=SC2016  # dpkg-query expands the ${...} itself
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] && continue
    missing+=("$package")
    printf 'missing: %-20s %s\n' "$package" "$why"
  done <scripts/packages.txt
  if ((${#missing[@]} == 0)); then
    echo "packages: nothing is missing"
    return
  fi
  local root=()
  if ((EUID != 0)); then
    command -v sudo >/dev/null || { echo "install these as root, then run me again: apt-get install ${missing[*]}" >&2; exit 1; }
    root=(sudo)
  fi
  "${root[@]}" apt-get update -q
  "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
}

# What CMake is told where ccache is installed.
compiler_launcher=()
! command -v ccache >/dev/null || compiler_launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)

# configure PRESET [CMAKE ARGUMENT...]
configure() {
  local preset=$1
  shift
  cmake --preset "$preset" --log-level=WARNING "${compiler_launcher[@]}" "$@"
}

# configure_tests PRESET [CMAKE ARGUMENT...]: with tests and benchmarks, also where scripts/demo was first. (By itself
# POOLJIT_BENCH follows POOLJIT_TESTS only when a folder is new.)
configure_tests() {
  configure "$@" -DPOOLJIT_TESTS=ON -DPOOLJIT_BENCH=ON
}

# build PRESET [TARGET...]
build() {
  local preset=$1
  shift
  cmake --build --preset "$preset" -j "$processors" ${1:+--target "$@"}
}

# quietly COMMAND...: shows what it printed only if it fails.
quietly() {
  local log
  log=$(mktemp)
  "$@" >"$log" 2>&1 || { cat "$log" >&2; rm "$log"; return 1; }
  rm "$log"
}

# stage NAME COMMAND...: runs one step under a headline, remembers how long it took. A failure ends the script with
# the step's name as the last line.
stage_times=()
stage() {
  local name=$1 start=$SECONDS
  shift
  printf '\n==== %s\n' "$name"
  # Not `if "$@"`: that would switch `set -e` off within the step.
  current_stage=$name
  "$@"
  current_stage=
  stage_times+=("$(printf '%5ds  %s' $((SECONDS - start)) "$name")")
}
current_stage=
trap 'status=$?; ((status == 0)) || printf "\nFAILED: %s (exit %d)\n" "${current_stage:-$0}" "$status" >&2' EXIT

print_stage_times() {
  printf '\n==== time\n'
  printf '%s\n' "${stage_times[@]}" "$(printf '%5ds  in total' "$SECONDS")"
}
