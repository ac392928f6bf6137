#!/bin/sh
# Installs a C compiler if there is none: `go test -race` needs one to link the race detector's runtime.
# Safe to run again. Uses sudo unless it runs as root.
set -eu

if command -v "$(go env CC)" >/dev/null 2>&1; then
	exit 0
fi

sudo=''
if [ "$(id -u)" -ne 0 ]; then
	sudo='sudo'
fi

echo "no C compiler found; installing one for the race detector" >&2
if command -v apt-get >/dev/null 2>&1; then
	$sudo apt-get update -qq
	$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends gcc libc6-dev
elif command -v dnf >/dev/null 2>&1; then
	$sudo dnf install -y -q gcc glibc-devel
elif command -v apk >/dev/null 2>&1; then
	$sudo apk add --quiet gcc musl-dev
elif command -v pacman >/dev/null 2>&1; then
	$sudo pacman -S --noconfirm --quiet gcc
else
	echo "install a C compiler ($(go env CC)), for example with: xcode-select --install" >&2
	exit 1
fi
