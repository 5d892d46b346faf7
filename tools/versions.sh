#!/usr/bin/env bash
# Installs the package with each version of Python on this machine, with the highest and (for Python 3.11) the lowest
# declared versions of its dependencies. Then uses it under conditions of other machines: two processes that compile at
# the same time, a home and a cache without write permission, an installation by root that another user runs.
#
#     tools/versions.sh                     # python3.11, python3.12, python3.13, those that are installed
#     tools/versions.sh 3.12                # one of them
#     PYTHON_3_13=/opt/python tools/versions.sh 3.13
#     VERSIONS=lowest tools/versions.sh 3.11
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
chmod 755 "$work"
trap 'rm -rf "$work"' EXIT

# Runs some commands of the installation in the environment $1. Prints nothing unless one fails.
try() {
  local command="$1/bin/mccfr-plus" folder
  folder=$(mktemp -d "$work/run.XXXX")
  (
    cd "$folder"
    "$command" solve kuhn_poker --iterations=100 --seed=1 --quiet --policy_out=kuhn.npz --checkpoint=run >/dev/null
    "$command" solve kuhn_poker --iterations=200 --quiet --checkpoint=run --resume >/dev/null
    "$command" evaluate kuhn_poker kuhn.npz >/dev/null
    "$command" view kuhn_poker kuhn.npz --out=kuhn.html >/dev/null
    "$command" solve leduc_poker --tree=rules --iterations=50 --quiet >/dev/null
    "$command" solve kuhn_poker --tree=lazy --iterations=50 --quiet >/dev/null
  )
}

# Prints the lowest declared versions of the installed package's dependencies, as constraints for pip.
lowest() {
  "$1/bin/python" - <<'PYTHON'
import re
from importlib.metadata import requires

for requirement in requires("mccfr_plus"):
    found = re.match(r"([\w.-]+)[^;]*?>=\s*([\w.]+)", requirement)
    if found and "extra ==" not in requirement:
        print(f"{found[1]}=={found[2]}.*")
PYTHON
}

# Prints the first Python of version $1 that can create environments: system installations before a user's.
found() {
  local candidate
  for candidate in $(PATH="/usr/bin:$PATH" type -ap "python$1"); do
    if "$candidate" -c "import ensurepip" 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
}

python3 -m venv "$work/build"
mkdir "$work/source"  # building writes beside the sources
cp -r setup.py pyproject.toml README.md LICENSE mccfr_plus "$work/source"
"$work/build/bin/pip" wheel --quiet --no-deps --wheel-dir "$work/wheel" "$work/source"
wheel=$(echo "$work"/wheel/*.whl)

for version in "${@:-3.11 3.12 3.13}"; do
  for each in $version; do
    name=PYTHON_${each//./_}
    python=${!name:-$(found "$each")}
    if [ -z "$python" ]; then
      echo "== Python $each: not found; give it by $name=PATH"
      continue
    fi
    for which in ${VERSIONS:-highest lowest}; do
      if [ "$which" = lowest ] && [ "$each" != 3.11 ]; then continue; fi
      echo "== Python $each, $which versions"
      place="$work/$each-$which"
      "$python" -m venv "$place"
      "$place/bin/pip" install --quiet --disable-pip-version-check "$wheel"
      if [ "$which" = lowest ]; then
        lowest "$place" >"$work/constraints"
        "$place/bin/pip" install --quiet --disable-pip-version-check --constraint "$work/constraints" "$wheel"
      fi
      "$place/bin/pip" freeze | grep -iE '^(numba|numpy|scipy|open_spiel|filelock|psutil)==' | tr '\n' ' '
      echo
      export NUMBA_CACHE_DIR="$work/numba-$each-$which"
      try "$place" &
      other=$!
      try "$place"
      wait "$other"
      echo "   two processes that compile at the same time: done"
      unset NUMBA_CACHE_DIR
      if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
        mkdir -p "$work/home"
        chmod 555 "$work/home"
        nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups env "HOME=$work/home")
        if ! "${nobody[@]}" "$place/bin/python" -c "" 2>/dev/null; then
          echo "   other users cannot run this Python: give one in a folder that they can read"
          rm -rf "$place"
          continue
        fi
        (
          cd /
          "${nobody[@]}" "$place/bin/mccfr-plus" solve kuhn_poker --iterations=100 --quiet >/dev/null
          "${nobody[@]}" NUMBA_CACHE_DIR=/proc/none "$place/bin/mccfr-plus" solve kuhn_poker --iterations=9 --quiet >/dev/null
        )
        echo "   installed by root, run by another user, without write permission for home and cache: done"
      fi
      rm -rf "$place"
    done
  done
done
