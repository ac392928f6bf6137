#!/bin/sh
# Installs Node.js with npm if they are missing: tests run the codec and the collation of JavaScript clients. The tests install the npm packages
# that they need themselves (internal/testkit/nodetest). Safe to run again. Uses sudo or doas unless it runs as root.
set -eu
. "$(dirname "$0")/packages.sh"

works() {
	command -v npm >/dev/null && node -e 'process.exit(parseInt(process.versions.node) >= 18 ? 0 : 1)' 2>/dev/null
}

if works; then
	exit 0
fi

echo "no Node.js 18 or newer with npm found; installing them for tests" >&2
install_packages 'nodejs npm' 'nodejs npm' 'nodejs npm icu-data-full' 'nodejs npm' node || :
works || {
	echo "install Node.js 18 or newer, with npm, by hand" >&2
	exit 1
}
