# Functions of ops/docker-check.sh and ops/compose-check.sh that make an image which the engine neither has nor can pull: from this
# machine's Go and certificates, and from packages of Debian (mmdebstrap). A stand-in has the name of the image, so use an engine of
# your own. They need the variable work, a directory, and the function say.

# need_image makes a stand-in for an image unless the engine has it or can pull it. It fails if it knows no stand-in.
need_image() {
	! have_image "$1" || return 0
	say "no $1: making a stand-in from this machine"
	case $1 in
	golang:*) stand_in_golang "$1" ;;
	*static*) stand_in_static "$1" ;;
	postgres:*) stand_in_service postgres "$1" ;;
	haproxy:*) stand_in_service haproxy "$1" ;;
	prom/prometheus:*) stand_in_service prometheus "$1" ;;
	*) return 1 ;;
	esac
}

# have_image returns whether the engine has an image or can pull it.
have_image() { docker image inspect "$1" >/dev/null 2>&1 || timeout 120 docker pull --quiet "$1" >/dev/null 2>&1; }

# Debian with the Go of this machine, as far as a build without cgo needs it.
stand_in_golang() {
	local goroot root=$work/golang
	goroot=$(go env GOROOT)
	mmdebstrap --quiet --variant=minbase --include=ca-certificates bookworm "$root"
	cp -a "$goroot" "$root/usr/local/go"
	cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
	tar --create --numeric-owner --one-file-system --directory "$root" . |
		docker import --change 'ENV PATH=/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin GOTOOLCHAIN=local' - "$1" >/dev/null
	rm -rf "$root"
}

# Certificates, time zones and the user 65532, and nothing that runs.
stand_in_static() {
	local root=$work/static
	mkdir -p "$root"/{etc/ssl/certs,usr/share,home/nonroot,tmp}
	echo 'nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin' >"$root/etc/passwd"
	echo 'nonroot:x:65532:' >"$root/etc/group"
	cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
	cp -a /usr/share/zoneinfo "$root/usr/share/"
	chown 65532:65532 "$root/home/nonroot" && chmod 1777 "$root/tmp"
	tar --create --numeric-owner --directory "$root" . | docker import --change 'USER 65532' --change 'WORKDIR /home/nonroot' \
		--change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt' - "$1" >/dev/null
}

# stand_in_service tags a stage of ops/stand-ins.Dockerfile, which has the programs of Debian 13, with the name of an image.
stand_in_service() {
	if ! docker image inspect director-check-services >/dev/null 2>&1; then
		mmdebstrap --quiet --variant=minbase --include=ca-certificates,postgresql,haproxy,prometheus \
			--aptopt='Apt::Install-Recommends "false"' --dpkgopt='path-exclude=/usr/share/doc/*' trixie - |
			docker import - director-check-services >/dev/null
	fi
	docker build --quiet --target "$1" --tag "$2" --file ops/stand-ins.Dockerfile ops >/dev/null
}
