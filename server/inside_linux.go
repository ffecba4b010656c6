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
	inside := processesInside()
	if len(inside) == 0 {
		return false
	}
	inode := socketBetween(from, to)
	return inode != "" && slices.ContainsFunc(inside, func(pid string) bool { return holds(pid, inode) })
}

// processesInside returns the processes that work for runs. They are few, and to look for a socket in all
// processes of a machine would take longer than anything else that a request does.
func processesInside() []string {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1) // what cannot be read is not known
	own, self := process.Depth(), os.Getpid()
	return slices.DeleteFunc(names, func(name string) bool {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == self {
			return true
		}
		depth, known := process.DepthOf(pid)
		return !known || depth <= own
	})
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

// holds reports whether a process has a socket open.
func holds(pid, inode string) bool {
	dir := filepath.Join("/proc", pid, "fd")
	entries, _ := os.ReadDir(dir) // empty if the process is over
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		to, err := os.Readlink(filepath.Join(dir, e.Name()))
		return err == nil && to == "socket:["+inode+"]"
	})
}
