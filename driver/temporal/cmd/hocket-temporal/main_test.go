package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	encpem "encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
	empty := filepath.Join(dir, "none")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
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
		"no file":           {map[string]string{"TEMPORAL_CONFIG_FILE": empty}, project.Temporal{}, "localhost:7233", "", "-"},
		"only a key":        {map[string]string{"TEMPORAL_CONFIG_FILE": empty, "TEMPORAL_API_KEY": "k"}, config, "config.example:7233", "of-config", ""},
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
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	root := t.TempDir()
	_, err := options(root, project.Temporal{TLS: project.TemporalTLS{On: true, CA: "certs/ca.pem"}})
	if missing := (*os.PathError)(nil); !errors.As(err, &missing) || missing.Path != filepath.Join(root, "certs", "ca.pem") {
		t.Errorf("%v", err)
	}
}

// TestKeyInTheClear: an API key is not sent without encryption, except to this machine.
func TestKeyInTheClear(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	const away, here = "temporal.example:7233", "127.0.0.1:7233"
	off := project.TemporalTLS{Off: true}
	for name, c := range map[string]struct {
		key, variable, address string
		config                 project.TemporalTLS
		refused, plain         bool
	}{
		"a key":                     {"k", "", away, project.TemporalTLS{}, false, false},
		"disabled by a variable":    {"k", "false", away, project.TemporalTLS{}, true, false},
		"disabled with 0":           {"k", "0", away, project.TemporalTLS{On: true}, true, false},
		"disabled in config.yml":    {"k", "", away, off, true, false},
		"enabled again":             {"k", "true", away, off, false, false},
		"this machine":              {"k", "false", here, project.TemporalTLS{}, false, true},
		"this machine, by its name": {"k", "", "localhost:7233", off, false, true},
		"this machine, with IPv6":   {"k", "0", "[::1]:7233", off, false, true},
		"another resolver":          {"k", "0", "dns:///localhost:7233", off, true, false},
		"no key":                    {"", "false", away, off, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TEMPORAL_API_KEY", c.key)
			t.Setenv("TEMPORAL_TLS", c.variable)
			o, err := options(t.TempDir(), project.Temporal{Address: c.address, TLS: c.config})
			if c.refused != (err != nil) || err != nil && !strings.Contains(err.Error(), "the API key would be sent to "+c.address+" without encryption: remove") {
				t.Fatal(err)
			}
			if err == nil && c.plain != (o.ConnectionOptions.TLS == nil) {
				t.Errorf("encrypted: %v", o.ConnectionOptions.TLS)
			}
		})
	}
}

// TestInvalidVariables: each error names the variable or the file that is wrong.
func TestInvalidVariables(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	dir := t.TempDir()
	cert, key := authority(t, "mine")
	_, other := authority(t, "other")
	file := func(name string, text []byte) string {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, name)
	}
	bad := file("bad.pem", []byte("bad"))
	const of = "TEMPORAL_TLS_CLIENT_"
	for want, env := range map[string]map[string]string{
		`invalid address "garbage" of the Temporal server`:                                {"TEMPORAL_ADDRESS": "garbage"},
		`invalid TEMPORAL_CONFIG_FILE: stat /none`:                                        {"TEMPORAL_CONFIG_FILE": "/none"},
		`invalid TEMPORAL_TLS "maybe": expected true or false`:                            {"TEMPORAL_TLS": "maybe"},
		`invalid TEMPORAL_TLS_DISABLE_HOST_VERIFICATION "yes"`:                            {"TEMPORAL_TLS_DISABLE_HOST_VERIFICATION": "yes"},
		`authority in TEMPORAL_TLS_SERVER_CA_CERT_DATA: expected`:                         {"TEMPORAL_TLS_SERVER_CA_CERT_DATA": "bad"},
		`authority in ` + bad + `: expected`:                                              {"TEMPORAL_TLS_SERVER_CA_CERT_PATH": bad},
		`the client certificate in ` + of + `CERT_DATA needs a key`:                       {of + "CERT_DATA": string(cert)},
		`the client key in ` + bad + ` needs a certificate`:                               {of + "KEY_PATH": bad},
		`certificate in ` + bad + `, with the key in ` + of + `KEY_DATA: `:                {of + "CERT_PATH": bad, of + "KEY_DATA": string(key)},
		`certificate in ` + of + `CERT_DATA, with the key in ` + file("other.key", other): {of + "CERT_DATA": string(cert), of + "KEY_PATH": filepath.Join(dir, "other.key")},
	} {
		t.Run(want, func(t *testing.T) {
			for name, value := range env {
				t.Setenv(name, value)
			}
			if _, err := options(dir, project.Temporal{}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v", err)
			}
		})
	}
}

// authority makes a certificate that signs itself, and returns it and its key.
func authority(t *testing.T, name string) (cert, key []byte) {
	t.Helper()
	pair, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	is := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, is, is, pair.Public(), pair)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(pair)
	if err != nil {
		t.Fatal(err)
	}
	return encpem.EncodeToMemory(&encpem.Block{Type: "CERTIFICATE", Bytes: der}), encpem.EncodeToMemory(&encpem.Block{Type: "PRIVATE KEY", Bytes: secret})
}

// The first source of a certificate counts, also if one source names a file and another one has the text.
func TestPrecedenceOfCertificates(t *testing.T) {
	root := t.TempDir()
	text := map[string]string{}
	for _, of := range []string{"variable", "config", "file"} {
		cert, key := authority(t, of)
		text[of+".pem"], text[of+".key"] = string(cert), string(key)
	}
	text["renewed.pem"] = text["config.pem"]
	files := func(of string) (cert, key string) {
		return filepath.Join(root, of+".pem"), filepath.Join(root, of+".key")
	}
	for name, content := range text {
		if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const ca, cert, key = "TEMPORAL_TLS_SERVER_CA_CERT_", "TEMPORAL_TLS_CLIENT_CERT_", "TEMPORAL_TLS_CLIENT_KEY_"
	variableCert, variableKey := files("variable")
	texts := map[string]string{ca + "DATA": text["variable.pem"], cert + "DATA": text["variable.pem"], key + "DATA": text["variable.key"]}
	paths := map[string]string{ca + "PATH": variableCert, cert + "PATH": variableCert, key + "PATH": variableKey}
	fileCert, fileKey := files("file")
	profiles := map[string]string{
		"":      "",
		"texts": fmt.Sprintf("[profile.default.tls]\nserver_ca_cert_data = %q\nclient_cert_data = %q\nclient_key_data = %q\n", text["file.pem"], text["file.pem"], text["file.key"]),
		"paths": fmt.Sprintf("[profile.default.tls]\nserver_ca_cert_path = %q\nclient_cert_path = %q\nclient_key_path = %q\n", fileCert, fileCert, fileKey),
	}
	config := project.TemporalTLS{On: true, CA: "config.pem", Cert: "config.pem", Key: "config.key"}
	for name, c := range map[string]struct {
		env     map[string]string
		config  project.TemporalTLS
		profile string
		ca      string
		client  string
	}{
		"texts over config":             {texts, config, "", "variable", "variable"},
		"paths over config":             {paths, config, "", "variable", "variable"},
		"texts over a profile of paths": {texts, project.TemporalTLS{}, "paths", "variable", "variable"},
		"paths over a profile of texts": {paths, project.TemporalTLS{}, "texts", "variable", "variable"},
		"config over texts":             {nil, config, "texts", "config", "config"},
		"config over paths":             {nil, config, "paths", "config", "config"},
		"only the authority":            {map[string]string{ca + "DATA": text["variable.pem"]}, config, "texts", "variable", "config"},
		"only the certificate":          {map[string]string{cert + "DATA": text["renewed.pem"]}, config, "paths", "config", "config"},
		"only the key":                  {map[string]string{key + "DATA": text["config.key"]}, config, "", "config", "config"},
		"a profile":                     {nil, project.TemporalTLS{On: true}, "texts", "file", "file"},
	} {
		t.Run(name, func(t *testing.T) {
			profile := filepath.Join(t.TempDir(), "temporal.toml")
			if err := os.WriteFile(profile, []byte(profiles[c.profile]), 0o600); err != nil {
				t.Fatal(err)
			}
			t.Setenv("TEMPORAL_CONFIG_FILE", profile)
			for key, value := range c.env {
				t.Setenv(key, value)
			}
			o, err := options(root, project.Temporal{TLS: c.config})
			if err != nil {
				t.Fatal(err)
			}
			is, pool := o.ConnectionOptions.TLS, x509.NewCertPool()
			pool.AppendCertsFromPEM([]byte(text[c.ca+".pem"]))
			if !is.RootCAs.Equal(pool) {
				t.Errorf("the authority is not that of %s", c.ca)
			}
			if got := is.Certificates[0].Leaf.Subject.CommonName; got != c.client {
				t.Errorf("the client is %s, want %s", got, c.client)
			}
		})
	}
}
