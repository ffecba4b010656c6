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
	return temporal.Open(temporal.Options{Key: key, Client: o, Queue: cmp.Or(s.Config.Temporal.Queue, filepath.Base(s.Root)), Store: store})
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
		if t.TLS.CA != "" {
			p.TLS.ServerCACertPath, p.TLS.ServerCACertData = below(root, t.TLS.CA), nil
		}
		if t.TLS.Cert != "" {
			p.TLS.ClientCertPath, p.TLS.ClientKeyPath = below(root, t.TLS.Cert), below(root, t.TLS.Key)
			p.TLS.ClientCertData, p.TLS.ClientKeyData = nil, nil
		}
	}
	if err := p.ApplyEnvVars(nil); err != nil {
		return client.Options{}, err
	}
	o, err := p.ToClientOptions(envconfig.ToClientOptionsRequest{})
	o.HostPort = cmp.Or(o.HostPort, client.DefaultHostPort)
	o.Logger = log.NewStructuredLogger(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})))
	return o, err
}

// below returns a file that config.yml names.
func below(root, file string) string {
	if file == "" || filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(root, file)
}
