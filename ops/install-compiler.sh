#!/bin/sh
# Installs a C compiler if there is none: `go test -race` needs one to link the race detector's runtime.
# Safe to run again. Uses sudo or doas unless it runs as root.
set -eu
. "$(dirname "$0")/packages.sh"

if command -v "$(go env CC)" >/dev/null 2>&1; then
	exit 0
fi

echo "no C compiler found; installing one for the race detector" >&2
install_packages 'gcc libc6-dev' 'gcc glibc-devel' 'gcc musl-dev' gcc '' || {
	echo "install a C compiler ($(go env CC)), for example with: xcode-select --install" >&2
	exit 1
}
