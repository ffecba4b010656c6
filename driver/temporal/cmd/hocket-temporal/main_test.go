package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hocket-dev/hocket/project"
)

// Variables come before config.yml, and config.yml before Temporal's own file.
func TestPrecedence(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "temporal.toml")
	if err := os.WriteFile(file, []byte(`[profile.default]
address = "file.example:7233"
namespace = "of-file"
[profile.cloud]
address = "cloud.example:7233"
api_key = "of-cloud"
[profile.cloud.tls]
server_name = "cloud"
`), 0o600); err != nil {
		t.Fatal(err)
	}
	config := project.Temporal{Address: "config.example:7233", Namespace: "of-config"}
	for name, c := range map[string]struct {
		env       map[string]string
		config    project.Temporal
		address   string
		namespace string
		tls       string // its server name; "-": none
	}{
		"file":              {nil, project.Temporal{}, "file.example:7233", "of-file", "-"},
		"config":            {nil, config, "config.example:7233", "of-config", "-"},
		"part of it":        {nil, project.Temporal{Address: "config.example:7233"}, "config.example:7233", "of-file", "-"},
		"variables":         {map[string]string{"TEMPORAL_ADDRESS": "env.example:7233", "TEMPORAL_NAMESPACE": "of-env"}, config, "env.example:7233", "of-env", "-"},
		"one variable":      {map[string]string{"TEMPORAL_NAMESPACE": "of-env"}, config, "config.example:7233", "of-env", "-"},
		"profile":           {map[string]string{"TEMPORAL_PROFILE": "cloud"}, project.Temporal{}, "cloud.example:7233", "", "cloud"},
		"profile and TLS":   {map[string]string{"TEMPORAL_PROFILE": "cloud"}, project.Temporal{TLS: project.TemporalTLS{On: true}}, "cloud.example:7233", "", "cloud"},
		"TLS":               {nil, project.Temporal{TLS: project.TemporalTLS{On: true, ServerName: "config"}}, "file.example:7233", "of-file", "config"},
		"variables for TLS": {map[string]string{"TEMPORAL_TLS_SERVER_NAME": "env"}, project.Temporal{TLS: project.TemporalTLS{On: true, ServerName: "config"}}, "file.example:7233", "of-file", "env"},
		"TLS disabled":      {map[string]string{"TEMPORAL_TLS": "false"}, project.Temporal{TLS: project.TemporalTLS{On: true}}, "file.example:7233", "of-file", "-"},
		"no file":           {map[string]string{"TEMPORAL_CONFIG_FILE": filepath.Join(dir, "none")}, project.Temporal{}, "localhost:7233", "", "-"},
		"only a key":        {map[string]string{"TEMPORAL_CONFIG_FILE": filepath.Join(dir, "none"), "TEMPORAL_API_KEY": "k"}, config, "config.example:7233", "of-config", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TEMPORAL_CONFIG_FILE", file)
			for key, value := range c.env {
				t.Setenv(key, value)
			}
			o, err := options("/project", c.config)
			if err != nil {
				t.Fatal(err)
			}
			tls := "-"
			if o.ConnectionOptions.TLS != nil {
				tls = o.ConnectionOptions.TLS.ServerName
			}
			if o.HostPort != c.address || o.Namespace != c.namespace || tls != c.tls {
				t.Errorf("%s %s %s", o.HostPort, o.Namespace, tls)
			}
			if _, key := c.env["TEMPORAL_API_KEY"]; (key || c.env["TEMPORAL_PROFILE"] == "cloud") != (o.Credentials != nil) {
				t.Errorf("credentials: %v", o.Credentials)
			}
		})
	}
}

// Files of certificates are relative to the project, and a missing one is named.
func TestCertificates(t *testing.T) {
	t.Setenv("TEMPORAL_CONFIG_FILE", filepath.Join(t.TempDir(), "none"))
	root := t.TempDir()
	_, err := options(root, project.Temporal{TLS: project.TemporalTLS{On: true, CA: "certs/ca.pem"}})
	if missing := (*os.PathError)(nil); !errors.As(err, &missing) || missing.Path != filepath.Join(root, "certs", "ca.pem") {
		t.Errorf("%v", err)
	}
}
