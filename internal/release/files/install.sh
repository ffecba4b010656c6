#!/bin/sh
# Installs hocket {{.Version}}: downloads the archive for this machine, compares its SHA-256
# with the one below, and copies the program and its manual pages.
#
#   curl -fsSL {{.Repository}}/releases/download/{{.Version}}/install.sh | sh
#
# HOCKET_INSTALL  the directory below which bin and share/man are (default: ~/.local)
# HOCKET_FROM     where the archives are: another address, or file:///path
set -eu

from=${HOCKET_FROM:-{{.Repository}}/releases/download/{{.Version}}}
to=${HOCKET_INSTALL:-${HOME:?set HOME or HOCKET_INSTALL}/.local}

fail() {
	echo "install hocket: $*" >&2
	exit 1
}

# All in a function, so that a script that arrives incomplete does nothing.
install() {
case $(uname -s) in
Linux) os=linux ;;
Darwin) os=darwin ;;
*) fail "no build for $(uname -s); on Windows unpack the .zip of {{.Repository}}/releases" ;;
esac
case $(uname -m) in
x86_64 | amd64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) fail "no build for processors of type $(uname -m)" ;;
esac

case $os/$arch in
{{- range .Archives}}{{if ne .OS "windows"}}
{{.OS}}/{{.Arch}}) archive={{.Name}} want={{.SHA256}} ;;
{{- end}}{{end}}
*) fail "this release has no archive for $os/$arch" ;;
esac

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

if command -v curl >/dev/null; then
	curl -fsSL --retry 3 -o "$dir/$archive" "$from/$archive" || fail "cannot download $from/$archive"
elif command -v wget >/dev/null; then
	wget -q -O "$dir/$archive" "$from/$archive" || fail "cannot download $from/$archive"
else
	fail "needs curl or wget to download"
fi

if command -v sha256sum >/dev/null; then
	got=$(sha256sum <"$dir/$archive")
elif command -v shasum >/dev/null; then
	got=$(shasum -a 256 <"$dir/$archive")
else
	fail "needs sha256sum or shasum to verify the download"
fi
[ "${got%% *}" = "$want" ] || fail "$archive has the SHA-256 ${got%% *}, expected $want; nothing was installed"

tar -xzf "$dir/$archive" -C "$dir"
mkdir -p "$to/bin" "$to/share/man/man1"
# Moved into place, so that a hocket that runs keeps its file.
cp "$dir/hocket" "$to/bin/.hocket.new"
chmod 755 "$to/bin/.hocket.new"
mv "$to/bin/.hocket.new" "$to/bin/hocket"
cp "$dir"/man/man1/*.1 "$to/share/man/man1/"

echo "hocket {{.Version}} is installed: $to/bin/hocket"
case :$PATH: in
*":$to/bin:"*) ;;
*) echo "add it to your PATH: export PATH=\"$to/bin:\$PATH\"" ;;
esac
}

install
