package project

import (
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/hocket-dev/hocket/check"
	"github.com/hocket-dev/hocket/internal/strictyaml"
	"github.com/hocket-dev/hocket/trust"
	"github.com/hocket-dev/hocket/workflow"
)

// TemporalDriver is the name of the driver that runs workflows on Temporal.
const TemporalDriver = "temporal"

// Temporal says where the runs of a project are if it uses Temporal. What is "" comes from the
// environment, or is a default. Keys are not here: they come from the environment, too.
type Temporal struct {
	Address   string // HOST:PORT of the server
	Namespace string
	Queue     string // names the project in its namespace; "": the name of its directory
	Store     string // a directory, relative to the project, or s3://BUCKET/PREFIX; "": in the state directory
	Anywhere  bool   // all machines have the same files, so no task has to stay on one
	TLS       TemporalTLS
}

// TemporalTLS says how the connection is encrypted. Files are relative to the project.
type TemporalTLS struct {
	On         bool
	Off        bool   // the connection is not encrypted, whatever Temporal's own file says
	CA         string // a file with the certificates of authorities; "": those of the system
	Cert, Key  string // files with the certificate of the client and its key; "": none
	ServerName string // in the certificate of the server; "": that of the address
}

func (t *Temporal) read(m *strictyaml.Map) {
	address := m.Get("address")
	if t.Address = address.Name(); t.Address != "" {
		if why := badAddress(t.Address); why != "" {
			address.Errorf(codeConfig, "write `HOST:PORT`, such as temporal.example.org:7233", "invalid address %q: %s", t.Address, why)
			t.Address = ""
		}
	}
	t.Namespace = m.Name("namespace")
	queue := m.Get("queue")
	if t.Queue = queue.Name(); strings.ContainsFunc(t.Queue, func(r rune) bool { return r == '/' || r <= ' ' || r == 0x7f }) {
		queue.Errorf(codeConfig, "use a name without slashes and spaces: it names the project in its namespace", "invalid queue %q", t.Queue)
		t.Queue = ""
	}
	store := m.Get("store")
	if t.Store = store.Text(); t.Store != "" {
		if why := badStore(t.Store); why != "" {
			store.Errorf(codeConfig, "write a directory that all machines share, or `s3://BUCKET/PREFIX`; keys come from the environment", "invalid store %q: %s", hidePassword(t.Store), why)
			t.Store = ""
		}
	}
	t.Anywhere = m.Word("place", "any") != ""
	t.TLS.read(m.Get("tls"))
	m.Done()
}

func (t *TemporalTLS) read(n strictyaml.Node) {
	if !n.Exists() || n.IsScalar() {
		t.On = n.Bool()
		t.Off = n.Exists() && !t.On
		return
	}
	m := n.Map()
	*t = TemporalTLS{On: true, CA: m.String("ca"), Cert: m.String("cert"), Key: m.String("key"), ServerName: m.Name("server_name")}
	unknown := m.Done()
	if (t.Cert == "") != (t.Key == "") && unknown == 0 {
		n.Errorf(codeConfig, "set both `cert` and `key`, or none of them", "a client certificate needs both cert and key")
	}
}

func badAddress(address string) string {
	host, port, err := net.SplitHostPort(address)
	if strings.Contains(address, "://") {
		return "it has no scheme"
	}
	if err != nil {
		return "expected a host and a port"
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "expected a port from 1 to 65535"
	}
	if host == "" {
		return "missing host"
	}
	return ""
}

func badStore(store string) string {
	if !strings.Contains(store, "://") {
		return ""
	}
	u, err := url.Parse(store)
	switch {
	case err != nil:
		return "it is not a URL"
	case u.Scheme != "s3":
		return "unsupported scheme"
	case u.User != nil:
		return "config.yml must not contain the value of a secret"
	case u.Host == "":
		return "missing bucket"
	}
	return ""
}

// hidePassword returns a URL without what is before its host.
func hidePassword(text string) string {
	if scheme, rest, ok := strings.Cut(text, "://"); ok {
		if i := strings.LastIndexByte(rest, '@'); i >= 0 {
			return scheme + "://…" + rest[i:]
		}
	}
	return text
}

// WorkerPowers returns the power of a workflow that its steps are done by workers: whoever can write to the namespace can
// start a run of it. The workflows of the project are meant for that, and those that models wrote have their own approval.
func (l *Loaded) WorkerPowers() trust.Powers {
	p, root := l.project, l.Bundle.Root
	if root == nil || root.Pos.File == "" || l.Generated != nil {
		return nil
	}
	base := filepath.Base(root.Pos.File)
	if p.IsName(strings.TrimSuffix(base, filepath.Ext(base)), root.Pos.File) {
		return nil
	}
	file := root.Pos.File
	if real, err := filepath.EvalSymlinks(file); err == nil { // otherwise it is the name of a text
		file = real
	}
	if abs, err := filepath.Abs(file); err == nil {
		file = abs
	}
	if rel, err := filepath.Rel(p.Root, file); err == nil {
		file = filepath.ToSlash(rel)
	}
	var digests []any
	for _, w := range check.Workflows(l.Bundle) {
		digests = append(digests, workflow.Digest(w))
	}
	return trust.Powers{{
		Kind: trust.Worker, Where: file, Material: workflow.FormatJSON(digests),
		What: "lets workers in this directory do the steps of " + file + " for everyone who can write to their Temporal namespace",
	}}
}

// DriverPowers returns the power of a driver that config.yml configures: to send runs, with all that they read and
// write, to a server. A driver without settings leads where the program says that has it.
func (p *Project) DriverPowers() trust.Powers {
	c, t := &p.Config, p.Config.Temporal
	if p.local || c.Driver != TemporalDriver && (c.Driver == "" || t == Temporal{}) {
		return nil
	}
	what := "sends runs, with everything that they read and write, to the Temporal server "
	if t.Address == "" {
		what += "of your environment"
	} else {
		what += "at " + t.Address + ", with your API key if you have one"
	}
	if t.Namespace != "" {
		what += ", in the namespace " + t.Namespace
	}
	if t.TLS.Off {
		what += ", without encryption"
	}
	if t.TLS.Key != "" {
		what += ", with the client key in the file " + t.TLS.Key
	}
	if t.Store != "" {
		what += "; stores long values in " + t.Store
		if strings.HasPrefix(t.Store, "s3://") {
			what += ", with your AWS keys"
		}
	}
	material := []any{c.Driver, t.Address, t.Namespace, t.Queue, t.Store, fmt.Sprint(t.TLS.On), t.TLS.CA, t.TLS.Cert, t.TLS.Key, t.TLS.ServerName}
	if t.TLS.Off {
		material = append(material, "plain")
	}
	return trust.Powers{{Kind: trust.Driver, What: what, Where: p.place(p.at["driver"]), Material: workflow.FormatJSON(material)}}
}
