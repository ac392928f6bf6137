#!/bin/sh
# Installs the packages of a list of Python's pip into a virtual environment: ops/install-schemathesis.sh LIST DIRECTORY
# Installs Python with the module venv if they are missing. Safe to run again.
set -eu
. "$(dirname "$0")/packages.sh"
list=$1 directory=$2

if ! python3 -c 'import ensurepip, sys; assert sys.version_info >= (3, 10)' 2>/dev/null; then
	echo "no Python 3.10 or newer with the module venv found; installing them for Schemathesis" >&2
	install_packages 'python3 python3-venv' 'python3' 'python3' 'python' 'python' || :
fi
rm -rf "$directory"
python3 -m venv "$directory"
"$directory/bin/pip" install --quiet --disable-pip-version-check --no-deps --requirement "$list" || {
	rm -rf "$directory"
	exit 1
}
touch "$directory"
