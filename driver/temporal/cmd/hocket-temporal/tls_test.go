package main

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// front is an encrypted way to a server, for those who have the certificate of a client.
type front struct {
	address       string
	authorization atomic.Value // that somebody sent last
}

func newFront(t *testing.T, server string, cert, key, client []byte) *front {
	t.Helper()
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	clients, plain := x509.NewCertPool(), new(http.Protocols)
	clients.AppendCertsFromPEM(client)
	plain.SetUnencryptedHTTP2(true)
	f, silent := &front{}, log.New(io.Discard, "", 0)
	pass := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: server})
	pass.ErrorLog = silent
	pass.Transport = &http.Transport{Protocols: plain}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.authorization.Store(r.Header.Get("Authorization"))
		pass.ServeHTTP(w, r)
	}))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: clients, ClientAuth: tls.RequireAndVerifyClientCert}
	s.Config.ErrorLog, s.EnableHTTP2 = silent, true
	s.StartTLS()
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	f.address = s.Listener.Addr().String()
	return f
}

// A run over an encrypted connection, with the certificate of a client and an API key, and what is said if something of it is wrong.
func TestEncrypted(t *testing.T) {
	if os.Getenv("HOCKET_TEMPORAL") == "" {
		t.Skip("HOCKET_TEMPORAL does not say where the server is installed; `make temporal` does that, and runs this")
	}
	server, serverKey := authority(t, "server")
	client, clientKey := authority(t, "client")
	stranger, strangerKey := authority(t, "stranger")
	f := newFront(t, startServer(t), server, serverKey, client)
	o := newOffice(t, f.address)
	place := func(name string) string { return filepath.Join(o.dir, ".hocket", name) }
	for name, text := range map[string]string{
		"config.yml": "driver: temporal\ntemporal: {address: \"" + f.address + "\", queue: office, tls: {ca: .hocket/server.pem}}\n",
		"server.pem": string(server), "client.pem": string(client), "client.key": string(clientKey), "stranger.pem": string(stranger), "stranger.key": string(strangerKey),
	} {
		if err := os.WriteFile(place(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o.trust()
	as := func(who string) []string {
		return []string{"TEMPORAL_TLS_CLIENT_CERT_PATH=" + place(who+".pem"), "TEMPORAL_TLS_CLIENT_KEY_PATH=" + place(who+".key")}
	}
	o.more = as("client")
	o.prints("ready for runs", 0, "migrate")
	if got := f.authorization.Load(); got != "" {
		t.Errorf("without a key, it sends %q", got)
	}
	o.more = append(o.more, "TEMPORAL_API_KEY=secret-1")
	w := o.command("worker")
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	o.prints("hi", 0, "run", "hello")
	if got := f.authorization.Load(); got != "Bearer secret-1" {
		t.Errorf("with a key, it sends %q", got)
	}
	_ = w.Process.Kill()
	_ = w.Wait()
	for name, c := range map[string]struct {
		more []string
		want string
	}{
		"no certificate":      {nil, "remote error: tls: certificate required"},
		"another certificate": {as("stranger"), "remote error: tls: certificate required"},
		"another authority":   {append(as("client"), "TEMPORAL_TLS_SERVER_CA_CERT_PATH="+place("client.pem")), "certificate signed by unknown authority"},
		"another name":        {append(as("client"), "TEMPORAL_TLS_SERVER_NAME=other.example"), "but wanted to match other.example"},
	} {
		t.Run(name, func(t *testing.T) {
			o.more = c.more
			text := o.hocket(1, "runs")
			if !strings.Contains(text, "cannot reach the Temporal server at "+f.address+": ") || !strings.Contains(text, c.want) {
				t.Errorf("it prints %q, want %q", text, c.want)
			}
		})
	}
}
