#!/bin/sh
# Installs Chromium and a font if they are missing: a test opens the operators' console in it. Safe to run again. Uses sudo or doas
# unless it runs as root.
set -eu
. "$(dirname "$0")/packages.sh"

works() {
	for name in chromium chromium-browser google-chrome google-chrome-stable; do
		! command -v "$name" >/dev/null || return 0
	done
	[ -x '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome' ] || [ -x /Applications/Chromium.app/Contents/MacOS/Chromium ]
}

if works; then
	exit 0
fi

echo "no Chromium found; installing it for the test of the console" >&2
install_packages 'chromium fonts-dejavu-core' 'chromium dejavu-sans-fonts' 'chromium font-dejavu' 'chromium ttf-dejavu' '--cask chromium' || :
works || {
	echo "install Chromium or Google Chrome by hand" >&2
	exit 1
}
