# Functions of ops/install-*.sh that install packages with the package manager of the system.

# as_root runs a command as root, with sudo or doas unless the script runs as root.
as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	elif command -v doas >/dev/null; then
		doas "$@"
	else
		echo "this needs root, and there is neither sudo nor doas: run as root: $*" >&2
		return 1
	fi
}

# package_manager prints the package manager of the system. It fails if there is none of these. On Linux, Homebrew is not the
# package manager of the system.
package_manager() {
	candidates='apt-get dnf apk pacman'
	[ "$(uname -s)" != Darwin ] || candidates=brew
	for manager in $candidates; do
		if command -v "$manager" >/dev/null; then
			echo "$manager"
			return
		fi
	done
	return 1
}

# install_packages APT DNF APK PACMAN BREW installs a list of packages, which differs by package manager. It fails if there is no
# package manager, or no package for it.
install_packages() {
	case $(package_manager) in
	apt-get) install_apt $1 ;;
	dnf) as_root dnf install -y -q $2 ;;
	apk) as_root apk add --quiet $3 ;;
	pacman) as_root pacman -Sy --noconfirm --needed --quiet $4 ;;
	brew) [ -n "$5" ] && brew install $5 ;;
	*) return 1 ;;
	esac
}

install_apt() {
	as_root apt-get update -qq || echo "some package lists could not be fetched; continuing with the others" >&2
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
}
