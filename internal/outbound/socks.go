package outbound

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"strconv"
	"time"
)

const socksVersion = 5

// socks serves a program that uses SOCKS 5.
func (p *Proxy) socks(conn net.Conn) {
	host, port, err := readTarget(conn)
	if err != nil {
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	far, err := p.options.Dial(p.ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(int(port))))
	if err != nil {
		_, _ = conn.Write(socksReply(err))
		return
	}
	defer far.Close()
	if _, err := conn.Write(socksReply(nil)); err == nil {
		p.splice(conn, far)
	}
}

var errNotSOCKS = errors.New("outbound: not a SOCKS 5 request")

// readTarget greets the program and reads where it wants to connect.
func readTarget(conn io.ReadWriter) (host string, port uint16, err error) {
	var head [2]byte // version, number of authentication methods
	if _, err := io.ReadFull(conn, head[:]); err != nil || head[0] != socksVersion {
		return "", 0, errNotSOCKS
	}
	if _, err := io.ReadFull(conn, make([]byte, head[1])); err != nil {
		return "", 0, errNotSOCKS
	}
	if _, err := conn.Write([]byte{socksVersion, 0}); err != nil { // no log-in
		return "", 0, err
	}
	var request [4]byte // version, command, reserved, kind of address
	if _, err := io.ReadFull(conn, request[:]); err != nil || request[0] != socksVersion || request[1] != 1 {
		return "", 0, errNotSOCKS
	}
	if host, err = readHost(conn, request[3]); err != nil {
		return "", 0, err
	}
	var number [2]byte
	if _, err := io.ReadFull(conn, number[:]); err != nil {
		return "", 0, errNotSOCKS
	}
	return host, binary.BigEndian.Uint16(number[:]), nil
}

func readHost(r io.Reader, kind byte) (string, error) {
	size := map[byte]int{1: 4, 4: 16}[kind]
	if kind == 3 { // a name, after its length
		var length [1]byte
		if _, err := io.ReadFull(r, length[:]); err != nil {
			return "", errNotSOCKS
		}
		size = int(length[0])
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(r, data); err != nil || size == 0 {
		return "", errNotSOCKS
	}
	if kind == 3 {
		return string(data), nil
	}
	address, _ := netip.AddrFromSlice(data)
	return address.String(), nil
}

// socksReply reports the result of connecting.
func socksReply(err error) []byte {
	code := byte(0)
	switch {
	case errors.Is(err, ErrRefused):
		code = 2 // forbidden by the rules
	case err != nil:
		code = 4 // host unreachable
	}
	return []byte{socksVersion, code, 0, 1, 0, 0, 0, 0, 0, 0}
}
