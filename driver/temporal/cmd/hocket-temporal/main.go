// Command hocket-temporal is hocket with one more driver, which runs workflows on Temporal. In a project with
// `driver: temporal`, hocket starts it by itself.
package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/hocket-dev/hocket"
	"github.com/hocket-dev/hocket/cli"
	"github.com/hocket-dev/hocket/driver"
	"github.com/hocket-dev/hocket/driver/temporal"
	"github.com/hocket-dev/hocket/project"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
)

func main() {
	worker.SetStickyWorkflowCacheSize(cached)
	if os.Getenv("GOGC") == "" { // runs with many steps have a large state, and make little garbage compared with it
		debug.SetGCPercent(50)
	}
	with := cli.With{Drivers: map[string]hocket.OpenDriver{project.TemporalDriver: open}}
	os.Exit(cli.Main(os.Args[1:], cli.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, with))
}

// cached is how many runs a worker has in memory. The others are read again when they go on; the SDK's own number is 10,000.
const cached = 300

// open connects to the server of a project.
func open(s hocket.DriverSetup) (driver.Driver, error) {
	o, err := options(s.Root, s.Config.Temporal)
	if err == nil && s.Metrics != "" {
		o.MetricsHandler, err = serveMetrics(s.Metrics)
	}
	if err == nil && s.Prepare {
		err = temporal.Prepare(context.Background(), o)
	}
	if err != nil {
		return nil, err
	}
	place := cmp.Or(s.Config.Temporal.Store, filepath.Join(s.State, "temporal"))
	if !strings.Contains(place, "://") {
		place = below(s.Root, place)
	}
	store, err := temporal.OpenStore(place)
	if err != nil {
		return nil, err
	}
	key, err := temporal.ParseKey(os.Getenv(temporal.KeyVariable))
	if err != nil {
		return nil, err
	}
	return temporal.Open(temporal.Options{Create: s.Prepare, Key: key, Client: o, Queue: cmp.Or(s.Config.Temporal.Queue, filepath.Base(s.Root)), Store: store})
}

// options returns how to connect. Variables of the environment come first, then what config.yml says, and then the profile in
// Temporal's own file.
func options(root string, t project.Temporal) (client.Options, error) {
	p, err := envconfig.LoadClientConfigProfile(envconfig.LoadClientConfigProfileOptions{DisableEnv: true})
	if err != nil {
		return client.Options{}, err
	}
	p.Address, p.Namespace = cmp.Or(t.Address, p.Address), cmp.Or(t.Namespace, p.Namespace)
	if t.TLS.On || t.TLS.Off {
		if p.TLS == nil {
			p.TLS = &envconfig.ClientConfigTLS{}
		}
		p.TLS.Disabled, p.TLS.ServerName = t.TLS.Off, cmp.Or(t.TLS.ServerName, p.TLS.ServerName)
		replace(p.TLS, &envconfig.ClientConfigTLS{ServerCACertPath: below(root, t.TLS.CA), ClientCertPath: below(root, t.TLS.Cert), ClientKeyPath: below(root, t.TLS.Key)})
	}
	if err := applyVariables(&p); err != nil {
		return client.Options{}, err
	}
	p.Address = cmp.Or(p.Address, client.DefaultHostPort)
	if err := errors.Join(checkAddress(p.Address), checkKey(p)); err != nil {
		return client.Options{}, err
	}
	o, err := p.ToClientOptions(envconfig.ToClientOptionsRequest{})
	o.Logger = log.NewStructuredLogger(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})))
	return o, err
}

// checkAddress refuses what is neither HOST:PORT nor one of the other forms that gRPC knows, such as unix:/socket.
func checkAddress(address string) error {
	_, port, err := net.SplitHostPort(address)
	if strings.ContainsAny(address, "/") || err == nil && port != "" {
		return nil
	}
	return fmt.Errorf("invalid address %q of the Temporal server: expected HOST:PORT, such as temporal.example.org:7233, in TEMPORAL_ADDRESS, config.yml or temporal.toml", address)
}

// checkKey refuses to send an API key that everybody on the way could read.
func checkKey(p envconfig.ClientConfigProfile) error {
	if p.APIKey == "" || p.TLS == nil || !p.TLS.Disabled || onLoopback(p.Address) {
		return nil
	}
	return fmt.Errorf("the API key would be sent to %s without encryption: remove `TEMPORAL_TLS=false`, `tls: false` in config.yml or `disabled` in temporal.toml, or use no API key", p.Address)
}

func onLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// applyVariables replaces what variables of the environment say.
func applyVariables(p *envconfig.ClientConfigProfile) error {
	if err := checkVariables(); err != nil {
		return err
	}
	var by envconfig.ClientConfigProfile
	if err := by.ApplyEnvVars(nil); err != nil {
		return err
	}
	if p.TLS != nil && by.TLS != nil {
		replace(p.TLS, by.TLS)
	}
	if err := p.ApplyEnvVars(nil); err != nil || p.TLS == nil || p.TLS.Disabled {
		return err
	}
	return readPEMs(p.TLS)
}

// checkVariables refuses what the SDK would ignore.
func checkVariables() error {
	if file := os.Getenv("TEMPORAL_CONFIG_FILE"); file != "" {
		if _, err := os.Stat(file); err != nil {
			return fmt.Errorf("invalid TEMPORAL_CONFIG_FILE: %w", err)
		}
	}
	for _, name := range []string{"TEMPORAL_TLS", "TEMPORAL_TLS_DISABLE_HOST_VERIFICATION"} {
		if value := os.Getenv(name); !slices.Contains([]string{"", "0", "1", "false", "true"}, strings.ToLower(value)) {
			return fmt.Errorf("invalid %s %q: expected true or false", name, value)
		}
	}
	return nil
}

// pem is a certificate or a key: a file, or its text.
type pem struct {
	path     *string
	data     *[]byte
	variable string // that has the text
}

// source says where it comes from.
func (p pem) source() string {
	switch {
	case *p.path != "":
		return *p.path
	case os.Getenv(p.variable) != "":
		return p.variable
	}
	return "temporal.toml"
}

// pems returns the certificate of the client, its key, and the certificates of authorities.
func pems(t *envconfig.ClientConfigTLS) []pem {
	return []pem{
		{&t.ClientCertPath, &t.ClientCertData, "TEMPORAL_TLS_CLIENT_CERT_DATA"}, {&t.ClientKeyPath, &t.ClientKeyData, "TEMPORAL_TLS_CLIENT_KEY_DATA"},
		{&t.ServerCACertPath, &t.ServerCACertData, "TEMPORAL_TLS_SERVER_CA_CERT_DATA"},
	}
}

// replace replaces the certificates and keys that another source has, also a file by a text: the SDK refuses both together.
func replace(t, by *envconfig.ClientConfigTLS) {
	old := pems(t)
	for i, p := range pems(by) {
		if *p.path != "" || len(*p.data) > 0 {
			*old[i].path, *old[i].data = *p.path, *p.data
		}
	}
}

// readPEMs reads the files of certificates and keys, and checks them: the certificate of the client and its key may have come from
// different sources, one as a file and one as a text, and the SDK wants both in the same form and does not name them.
func readPEMs(t *envconfig.ClientConfigTLS) (err error) {
	all := pems(t)
	var from [3]string
	for i, p := range all {
		from[i] = p.source()
		if *p.path == "" || len(*p.data) > 0 {
			continue
		}
		if *p.data, err = os.ReadFile(*p.path); err != nil {
			return err
		}
		*p.path = ""
	}
	cert, key, ca := *all[0].data, *all[1].data, *all[2].data
	if len(cert) > 0 && len(key) == 0 {
		return fmt.Errorf("the client certificate in %s needs a key: set both, or none of them", from[0])
	}
	if len(key) > 0 && len(cert) == 0 {
		return fmt.Errorf("the client key in %s needs a certificate: set both, or none of them", from[1])
	}
	if len(cert) > 0 {
		if _, err := tls.X509KeyPair(cert, key); err != nil {
			return fmt.Errorf("invalid client certificate in %s, with the key in %s: %w", from[0], from[1], err)
		}
	}
	if len(ca) > 0 && !x509.NewCertPool().AppendCertsFromPEM(ca) {
		return fmt.Errorf("invalid certificate of an authority in %s: expected the text of a PEM file", from[2])
	}
	return nil
}

// below returns a file that config.yml names.
func below(root, file string) string {
	if file == "" || filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(root, file)
}
