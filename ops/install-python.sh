#!/bin/sh
# Installs Python and its module `cryptography` if they are missing: a test runs examples/first/server.py, which needs them.
# Safe to run again. Uses sudo or doas unless it runs as root.
set -eu
. "$(dirname "$0")/packages.sh"

works() {
	python3 -c 'import sys; assert sys.version_info >= (3, 9); import cryptography.hazmat.primitives.asymmetric.ed25519' 2>/dev/null
}

if works; then
	exit 0
fi

echo "no Python 3.9 or newer with the module cryptography found; installing them for the test of examples/first" >&2
install_packages 'python3 python3-cryptography' 'python3 python3-cryptography' 'python3 py3-cryptography' 'python python-cryptography' \
	'python cryptography' || :
works || {
	echo "$(command -v python3 || echo python3) is not a Python 3.9 or newer with the module cryptography." >&2
	echo "Run 'python3 -m pip install cryptography', or put another Python first in PATH: the package manager installs the module" >&2
	echo "only for the Python of the system, such as /usr/bin/python3." >&2
	exit 1
}
