# Sourced by the other scripts: makes or reuses .venv and installs likewise into it.
# The install is skipped while pyproject.toml and the version of Python are the same.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
extras=${1:-}
python=${PYTHON:-python3}
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    echo "likewise needs Python 3.11 or newer; set PYTHON=/path/to/python3.11 and run this again." >&2
    exit 2
fi
if [ ! -x .venv/bin/python ]; then
    "$python" -m venv .venv || {
        echo "Could not make .venv; on Debian: apt-get install python3-venv" >&2
        exit 2
    }
fi
mark=$(cat pyproject.toml <(.venv/bin/python --version) | sha256sum | cut -c1-16)
for done in ".venv/installed-$mark-dev" ".venv/installed-$mark$extras"; do
    if [ -e "$done" ]; then return 0; fi
done
echo "Installing what likewise needs into .venv (once; a few minutes) ..."
.venv/bin/python -m pip install --quiet --disable-pip-version-check --upgrade pip
if [ "$extras" = "-dev" ]; then wanted=".[dev]"; else wanted="."; fi
.venv/bin/python -m pip install --quiet --disable-pip-version-check --editable "$wanted"
touch ".venv/installed-$mark$extras"
