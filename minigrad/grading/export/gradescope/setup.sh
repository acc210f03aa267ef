#!/usr/bin/env bash
# Gradescope runs this once, when it builds the image. It creates a virtual environment for the grader.
set -euo pipefail
source=${AUTOGRADER_SOURCE:-/autograder/source}
venv=${AUTOGRADER_VENV:-/autograder/venv}

enough='import sys, ensurepip, venv; sys.exit(sys.version_info < (3, 11))'
python=
for name in python3.13 python3.12 python3.11 python3; do
    if "$name" -c "$enough" 2>/dev/null; then python=$name; break; fi
done
if [ -z "$python" ]; then
    apt-get update
    apt-get install -y --no-install-recommends python3.11 python3.11-venv
    python=python3.11
fi
"$python" -m venv "$venv"
cd "$source"  # requirements.txt may name a wheel in this folder
"$venv/bin/python" -m pip install --no-cache-dir -r requirements.txt
