package server

import (
	"bufio"
	"encoding/hex"
	"errors"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-dev/hocket/internal/process"
)

// insideRun reports whether the program at the other end of a connection within this machine works for a run, or
// may do so and hides it. What it starts through the server would not be held to the limits of that run.
func insideRun(remote, local string) bool {
	from, err := netip.ParseAddrPort(remote)
	to, err2 := netip.ParseAddrPort(local)
	if err != nil || err2 != nil || !ofThisMachine(from.Addr().Unmap()) {
		return false
	}
	inside, outside := processes()
	if len(inside) == 0 {
		return false
	}
	inode, uid := socketBetween(from, to)
	if inode == "" || inode == "0" { // it was closed after the request was sent
		return true
	}
	if slices.ContainsFunc(inside, func(pid string) bool { held, _ := holds(pid, inode); return held }) {
		return true
	}
	if uid != strconv.Itoa(os.Getuid()) { // a proxy of another user
		return false
	}
	// A program can keep its sockets from being seen. Then no other program has this one.
	return !slices.ContainsFunc(outside, func(pid string) bool {
		held, seen := holds(pid, inode)
		return held || !seen && ownerOf(pid) == uid
	})
}

// ofThisMachine reports whether an address is one of this machine.
func ofThisMachine(address netip.Addr) bool {
	if address.IsLoopback() {
		return true
	}
	own, err := net.InterfaceAddrs()
	return err == nil && slices.ContainsFunc(own, func(a net.Addr) bool {
		prefix, err := netip.ParsePrefix(a.String())
		return err == nil && prefix.Addr().Unmap() == address.WithZone("")
	})
}

// processes returns the processes that work for runs, and all others. The first are few: to look for a socket in all
// processes of a machine takes longer than anything else that a request does.
func processes() (inside, outside []string) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil, nil
	}
	defer proc.Close()
	names, _ := proc.Readdirnames(-1) // what cannot be read is not known
	self := os.Getpid()
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if depth, known := process.DepthOf(pid); known && depth > 0 && pid != self { // everyone can read it
			inside = append(inside, name)
		} else {
			outside = append(outside, name)
		}
	}
	return inside, outside
}

// ownerOf returns the user of a process; "" if it is over.
func ownerOf(pid string) string {
	text, _ := os.ReadFile(filepath.Join("/proc", pid, "status"))
	_, after, _ := strings.Cut(string(text), "\nUid:")
	if fields := strings.Fields(after); len(fields) > 0 {
		return fields[0]
	}
	return ""
}

// socketBetween returns the inode and the user of the socket that connects an address to another.
func socketBetween(from, to netip.AddrPort) (inode, uid string) {
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		table, err := os.Open(file)
		if err != nil {
			continue
		}
		for lines := bufio.NewScanner(table); inode == "" && lines.Scan(); {
			if f := strings.Fields(lines.Text()); len(f) > 9 && sameEnd(f[1], from) && sameEnd(f[2], to) {
				inode, uid = f[9], f[7]
			}
		}
		table.Close()
		if inode != "" {
			return inode, uid
		}
	}
	return "", ""
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

// holds reports whether a process has a socket open. Its threads may have different ones. seen is false if it cannot
// be known.
func holds(pid, inode string) (held, seen bool) {
	tasks, err := filepath.Glob(filepath.Join("/proc", pid, "task/*/fd"))
	if err != nil {
		return false, false
	}
	for _, dir := range tasks {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // not over
			return false, false
		}
		for _, e := range entries {
			if to, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil && to == "socket:["+inode+"]" {
				return true, true
			}
		}
	}
	return false, true
}
