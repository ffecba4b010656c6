package web

import (
	"bytes"
	"compress/gzip"
	"io"
	"net"
	"net/http"
	"strings"
)

// send answers with a text. It is compressed on its way through a network: a large drawing to a tenth. On the same
// machine, that would only take time; a proxy there compresses by itself.
func send(w http.ResponseWriter, r *http.Request, status int, kind string, text []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Add("Vary", "Accept-Encoding")
	if len(text) < 4<<10 || !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") || local(r) {
		w.WriteHeader(status)
		_, _ = w.Write(text) // the browser may have gone
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	w.WriteHeader(status)
	z, _ := gzip.NewWriterLevel(w, gzip.BestSpeed) // the level is valid
	_, _ = z.Write(text)
	_ = z.Close()
}

// sendPacked answers with a text that was compressed before.
func sendPacked(w http.ResponseWriter, r *http.Request, kind string, packed []byte) {
	w.Header().Set("Content-Type", kind)
	w.Header().Add("Vary", "Accept-Encoding")
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(packed) // the browser may have gone
		return
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_, _ = io.Copy(w, z) //nolint:gosec // it is a file of ours
}

// local reports whether a request comes from this machine.
func local(r *http.Request) bool {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	ip := net.ParseIP(host)
	return err != nil || ip == nil || ip.IsLoopback()
}
