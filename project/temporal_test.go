package project_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/project"
	"github.com/hocket-dev/hocket/trust"
)

const onTemporal = `driver: temporal
temporal:
  address: temporal.example.org:7233
  namespace: agents
  queue: shop
  store: s3://bucket/shop
  tls: {ca: ca.pem, cert: /etc/c.pem, key: /etc/c.key, server_name: temporal}
`

func TestTemporal(t *testing.T) {
	p := open(t, write(t, map[string]string{".hocket/config.yml": onTemporal}))
	want := project.Temporal{
		Address: "temporal.example.org:7233", Namespace: "agents", Queue: "shop", Store: "s3://bucket/shop",
		TLS: project.TemporalTLS{On: true, CA: "ca.pem", Cert: "/etc/c.pem", Key: "/etc/c.key", ServerName: "temporal"},
	}
	if found := p.Diagnostics(); len(found) > 0 || p.Config.Temporal != want || p.Config.Driver != "temporal" {
		t.Errorf("%v %+v", found, p.Config.Temporal)
	}
	p = open(t, write(t, map[string]string{".hocket/config.yml": "temporal: {tls: true, store: ../shared}\n"}))
	if found := p.Diagnostics(); len(found) > 0 || p.Config.Temporal != (project.Temporal{Store: "../shared", TLS: project.TemporalTLS{On: true}}) {
		t.Errorf("%v %+v", found, p.Config.Temporal)
	}
}

func TestTemporalMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"address: temporal.example.org":                  `5: invalid address "temporal.example.org": expected a host and a port`,
		"address: \"https://temporal.example.org:7233\"": `5: invalid address "https://temporal.example.org:7233": it has no scheme`,
		"address: \"temporal:70000\"":                    `5: invalid address "temporal:70000": expected a port from 1 to 65535`,
		"address: \":7233\"":                             `5: invalid address ":7233": missing host`,
		"queue: a/b":                                     `5: invalid queue "a/b"`,
		"store: \"gs://bucket\"":                         `5: invalid store "gs://bucket": unsupported scheme`,
		"store: \"s3:///prefix\"":                        `5: invalid store "s3:///prefix": missing bucket`,
		"store: \"s3://key:secret@bucket\"":              `5: invalid store "s3://…@bucket": config.yml must not contain the value of a secret`,
		"tls: {cert: c.pem}":                             `5: a client certificate needs both cert and key`,
		"adress: \"a:1\"":                                `5: unknown key "adress"`,
		"api_key: tmprl_abc":                             `5: unknown key "api_key"`,
		"tls: {kye: c.key}":                              `5: unknown key "kye"`,
	} {
		p := open(t, write(t, map[string]string{".hocket/config.yml": "# of\n# the\n# shop\ntemporal:\n  " + text + "\n"}))
		found := p.Diagnostics()
		if len(found) != 1 || found[0].Detail == "" || strings.Contains(found.String(), "secret@") {
			t.Errorf("%s: %v", text, found)
			continue
		}
		if got := strings.SplitN(found[0].String(), "config.yml:", 2)[1]; !strings.HasPrefix(got[:1], want[:1]) || !strings.Contains(got, strings.TrimPrefix(want, "5: ")) {
			t.Errorf("%s: %s", text, got)
		}
	}
}

// Every workflow of a project with a driver sends runs away, also one that uses nothing else of the project. The
// digest covers all that says where to.
func TestDriverPowers(t *testing.T) {
	powers := func(config string) trust.Powers {
		p := empowered(t, write(t, map[string]string{".hocket/config.yml": config, "w.yml": "steps: [{agent: shell, config: {command: [ls]}}]\n"}), "")
		l, err := p.Load("w.yml")
		if err != nil {
			t.Fatal(err)
		}
		if all, err := p.AllPowers(); err != nil || l.Powers().Exceeds(all) {
			t.Errorf("hocket trust does not list %v: %v", l.Powers(), err)
		}
		return l.Powers()
	}
	want := "driver: sends runs, with everything that they read and write, to the Temporal server at temporal.example.org:7233, with your API key if you have one, " +
		"in the namespace agents, with the client key in the file /etc/c.key; stores long values in s3://bucket/shop, with your AWS keys .hocket/config.yml:1"
	all := powers(onTemporal)
	if len(all) != 1 || string(all[0].Kind)+": "+all[0].What+" "+all[0].Where != want {
		t.Errorf("%v", all)
	}
	digests := []string{all.Digest()}
	for _, change := range [][2]string{
		{"temporal.example.org", "evil.example.org"}, {"agents", "theirs"}, {"queue: shop", "queue: bait"}, {"bucket", "other"}, {"ca.pem", "cb.pem"},
		{"c.pem", "d.pem"}, {"c.key", "d.key"}, {"server_name: temporal", "server_name: evil"}, {"  tls:", "  #"},
	} {
		digest := powers(strings.Replace(onTemporal, change[0], change[1], 1)).Digest()
		if slices.Contains(digests, digest) {
			t.Errorf("%v: the digest does not change", change)
		}
		digests = append(digests, digest)
	}
	plain := powers("driver: temporal\ntemporal: {tls: false}\n")
	if len(plain) != 1 || !strings.Contains(plain[0].What, ", without encryption") || plain.Digest() == powers("driver: temporal\n").Digest() {
		t.Errorf("without encryption: %v", plain)
	}
	if got := powers("driver: temporal\n"); len(got) != 1 || !strings.HasSuffix(got[0].What, "to the Temporal server of your environment") {
		t.Errorf("%v", got)
	}
	local, err := project.Open(write(t, map[string]string{".hocket/config.yml": onTemporal}), project.Options{Local: true})
	if err != nil || len(local.DriverPowers()) > 0 {
		t.Errorf("on this machine: %v %v", local.DriverPowers(), err)
	}
	for _, none := range []string{"", "temporal: {address: \"a:1\"}\n", "driver: mine\n"} {
		if got := powers(none); len(got) > 0 {
			t.Errorf("%q: %v", none, got)
		}
	}
	if got := powers("driver: mine\ntemporal: {address: \"a:1\"}\n"); len(got) != 1 {
		t.Errorf("a driver of another name: %v", got)
	}
}
