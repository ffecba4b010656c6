// Command hocket-temporal is hocket with one more driver, which runs workflows on Temporal. In a project with
// `driver: temporal`, hocket starts it by itself.
package main

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
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
	if t.TLS.On {
		if p.TLS == nil {
			p.TLS = &envconfig.ClientConfigTLS{}
		}
		p.TLS.Disabled, p.TLS.ServerName = false, cmp.Or(t.TLS.ServerName, p.TLS.ServerName)
		replace(p.TLS, &envconfig.ClientConfigTLS{ServerCACertPath: below(root, t.TLS.CA), ClientCertPath: below(root, t.TLS.Cert), ClientKeyPath: below(root, t.TLS.Key)})
	}
	if err := applyVariables(&p); err != nil {
		return client.Options{}, err
	}
	o, err := p.ToClientOptions(envconfig.ToClientOptionsRequest{})
	o.HostPort = cmp.Or(o.HostPort, client.DefaultHostPort)
	o.Logger = log.NewStructuredLogger(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})))
	return o, err
}

// applyVariables replaces what variables of the environment say.
func applyVariables(p *envconfig.ClientConfigProfile) error {
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
	return readClient(p.TLS)
}

// pem is a certificate or a key: a file, or its text.
type pem struct {
	path *string
	data *[]byte
}

// pems returns the certificate of the client, its key, and the certificates of authorities.
func pems(t *envconfig.ClientConfigTLS) []pem {
	return []pem{{&t.ClientCertPath, &t.ClientCertData}, {&t.ClientKeyPath, &t.ClientKeyData}, {&t.ServerCACertPath, &t.ServerCACertData}}
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

// readClient reads the files of the client: the certificate and the key may have come from different sources, one as a file and one as
// a text, and the SDK wants both in the same form.
func readClient(t *envconfig.ClientConfigTLS) (err error) {
	for _, p := range pems(t)[:2] {
		if *p.path == "" || len(*p.data) > 0 {
			continue
		}
		if *p.data, err = os.ReadFile(*p.path); err != nil {
			return err
		}
		*p.path = ""
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
