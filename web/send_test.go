package web

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http/httptest"
	"testing"
)

// Texts are compressed for browsers elsewhere, and only for those that can read it.
func TestSend(t *testing.T) {
	text := bytes.Repeat([]byte("<g class=\"edge\">"), 10000)
	for _, test := range []struct {
		from, accepts string
		packed        bool
	}{
		{"192.0.2.7:40000", "br, gzip", true},
		{"192.0.2.7:40000", "", false},
		{"127.0.0.1:40000", "gzip", false},
		{"[::1]:40000", "gzip", false},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = test.from
		r.Header.Set("Accept-Encoding", test.accepts)
		w := httptest.NewRecorder()
		send(w, r, 200, "text/html", text)
		var got io.Reader = w.Body
		if packed := w.Header().Get("Content-Encoding") == "gzip"; packed != test.packed || packed && w.Body.Len() > len(text)/10 {
			t.Fatalf("%+v: compressed: %t, %d bytes", test, packed, w.Body.Len())
		} else if packed {
			z, err := gzip.NewReader(w.Body)
			if err != nil {
				t.Fatal(err)
			}
			got = z
		}
		if all, err := io.ReadAll(got); err != nil || !bytes.Equal(all, text) {
			t.Errorf("%+v: another text arrives: %v", test, err)
		}
	}
}
