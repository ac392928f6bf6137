#!/bin/sh
# Installs what runs the packages of engines in tests, as far as the system has packages of it: a C++ compiler with libcurl, Mono, and
# Godot 3 without a window. No package manager has Godot 4 or Unreal. Safe to run again. Uses sudo or doas unless it runs as root.
set -eu
. "$(dirname "$0")/packages.sh"

works() {
	for name in g++ mcs mono godot3-server; do
		command -v "$name" >/dev/null || return 1
	done
	echo '#include <curl/curl.h>' | g++ -fsyntax-only -xc++ - 2>/dev/null
}

if works; then
	exit 0
fi

echo "installing a C++ compiler with libcurl, Mono and Godot 3, to run the packages of engines" >&2
install_packages 'g++ libcurl4-openssl-dev mono-mcs mono-runtime libmono-system-net-http4.0-cil libmono-system-core4.0-cil godot3-server' \
	'gcc-c++ libcurl-devel mono-core' 'g++ curl-dev mono' 'gcc curl mono' 'mono' || :
works || echo "not all of g++, libcurl, mcs, mono and godot3-server are here: the tests say what they leave out" >&2
