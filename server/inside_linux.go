package server

import (
	"bufio"
	"encoding/hex"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-dev/hocket/internal/process"
)

// insideRun reports whether the program at the other end of a connection within this machine works for a run.
// What it starts through the server would not be held to the limits of that run.
func insideRun(remote, local string) bool {
	from, err := netip.ParseAddrPort(remote)
	to, err2 := netip.ParseAddrPort(local)
	if err != nil || err2 != nil || !from.Addr().Unmap().IsLoopback() {
		return false
	}
	inode := socketBetween(from, to)
	if inode == "" {
		return false
	}
	own := process.Depth()
	for _, pid := range holders(inode) {
		if pid == os.Getpid() {
			continue // the server itself
		}
		if depth, known := process.DepthOf(pid); known && depth > own {
			return true
		}
	}
	return false
}

// socketBetween returns the inode of the socket that connects an address to another.
func socketBetween(from, to netip.AddrPort) string {
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		table, err := os.Open(file)
		if err != nil {
			continue
		}
		inode := ""
		for lines := bufio.NewScanner(table); inode == "" && lines.Scan(); {
			if f := strings.Fields(lines.Text()); len(f) > 9 && sameEnd(f[1], from) && sameEnd(f[2], to) {
				inode = f[9]
			}
		}
		table.Close()
		if inode != "" {
			return inode
		}
	}
	return ""
}

// sameEnd reports whether an address of /proc/net/tcp, in hexadecimal words of the machine's order, is at.
func sameEnd(text string, at netip.AddrPort) bool {
	address, port, _ := strings.Cut(text, ":")
	n, err := strconv.ParseUint(port, 16, 16)
	raw, err2 := hex.DecodeString(address)
	if err != nil || err2 != nil || uint16(n) != at.Port() || len(raw)%4 != 0 {
		return false
	}
	for i := 0; i < len(raw); i += 4 { // little endian, as all machines that Linux usually runs on
		slices.Reverse(raw[i : i+4])
	}
	ip, ok := netip.AddrFromSlice(raw)
	return ok && ip.Unmap() == at.Addr().Unmap()
}

// holders returns the processes of this user that have a socket open.
func holders(inode string) []int {
	var pids []int
	dirs, _ := filepath.Glob("/proc/[0-9]*/fd")
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // of another user, or over
		}
		for _, e := range entries {
			if to, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil && to == "socket:["+inode+"]" {
				if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(dir))); err == nil {
					pids = append(pids, pid)
				}
				break
			}
		}
	}
	return pids
}
