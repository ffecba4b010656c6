package tool

import "testing"

func TestReach(t *testing.T) {
	n := Network{Hosts: []string{"api.example.com", "*.example.org", "localhost:8080", "[::1]:9", "10.0.0.5"}}
	for _, c := range []struct {
		host, port string
		want       reach
	}{
		{"api.example.com", "443", named}, {"API.example.com.", "80", named}, {"x.api.example.com", "443", refused},
		{"a.example.org", "443", public}, {"a.b.example.org", "443", public}, {"example.org", "443", refused}, {"evilexample.org", "443", refused},
		{"localhost", "8080", named}, {"localhost", "80", refused}, {"::1", "9", named}, {"::1", "80", refused}, {"10.0.0.5", "1", named},
	} {
		if got := n.reach(c.host, c.port); got != c.want {
			t.Errorf("%s:%s is %d, want %d", c.host, c.port, got, c.want)
		}
	}
	if (Network{}).reach("a.b", "80") != refused || (Network{Any: true}).reach("a.b", "80") != public {
		t.Error("nobody and everybody are not told apart")
	}
}

func TestNamesOfPrivateHosts(t *testing.T) {
	for _, name := range []string{"localhost", "a.LOCALHOST", "localhost.", "127.0.0.1", "127.0.0.1.", "::1", "2130706433", "0x7f.1", "127.1", "017700000001", ""} {
		if publicName(name) {
			t.Errorf("%s counts as public", name)
		}
	}
	for _, name := range []string{"example.com", "example.com.", "1.1.1.1", "9.example.com"} {
		if !publicName(name) {
			t.Errorf("%s counts as private", name)
		}
	}
}

func TestFixedSchemasCompile(t *testing.T) {
	for _, m := range builtins() {
		if m.inputs == nil || m.Work == nil {
			t.Errorf("%s: %+v", m.Name, m)
		}
	}
	if m, found := Read(file, []byte("description: d\nkind: search\npermissions: {network: true}\nsearch: {url: 'https://a.b?q={query}', results: $}")); len(found) > 0 || m.outputs == nil {
		t.Errorf("%v", found)
	}
	text, err := builtinFiles.ReadFile("builtin/http_request/tool.yml")
	if err != nil {
		t.Fatal(err)
	}
	if _, found := Read("builtin/http_request/tool.yml", text); len(found) > 0 {
		t.Error(found)
	}
}

// The samples for a new tool have no errors.
func TestSamples(t *testing.T) {
	for _, kind := range Kinds() {
		files, err := Sample(kind)
		if err != nil {
			t.Fatal(err)
		}
		m, found := Read(file, files[File])
		if len(found) > 0 || m.Kind() != kind {
			t.Errorf("%s: %v", kind, found)
		}
		if c, ok := m.Work.(*Command); ok && c.File != "" && files[c.File] == nil {
			t.Errorf("%s: there is no %s", kind, c.File)
		}
	}
	if _, err := Sample("magic"); err == nil {
		t.Error("there is magic")
	}
}
