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

// What is embedded compressed is sent so, and unpacked for others.
func TestPackedAsset(t *testing.T) {
	unpack := func(from io.Reader) []byte {
		z, err := gzip.NewReader(from)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	packed, err := static.ReadFile("static/editor.js.gz")
	if err != nil {
		t.Fatal(err)
	}
	want := unpack(bytes.NewReader(packed))
	for _, accepts := range []string{"br, gzip", ""} {
		r := httptest.NewRequest("GET", "/assets/1/editor.js", nil)
		r.SetPathValue("name", "editor.js")
		r.Header.Set("Accept-Encoding", accepts)
		w := httptest.NewRecorder()
		(&site{}).asset(w, r)
		if w.Header().Get("Content-Encoding") != map[bool]string{true: "gzip"}[accepts != ""] {
			t.Fatalf("%q: the encoding is %q", accepts, w.Header().Get("Content-Encoding"))
		}
		text := w.Body.Bytes()
		if accepts != "" {
			text = unpack(w.Body)
		}
		if !bytes.Equal(text, want) || w.Header().Get("Content-Type") != assetTypes[".js"] {
			t.Errorf("%q: %d bytes of %s", accepts, len(text), w.Header().Get("Content-Type"))
		}
	}
	for _, name := range []string{"editor.js.gz", "unknown.js", "editor"} {
		r := httptest.NewRequest("GET", "/assets/1/"+name, nil)
		r.SetPathValue("name", name)
		w := httptest.NewRecorder()
		if (&site{}).asset(w, r); w.Code != 404 {
			t.Errorf("%s: %d", name, w.Code)
		}
	}
}
