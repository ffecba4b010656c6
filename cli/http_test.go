package cli_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/cli"
)

// A value that a request takes from the environment is a secret, whatever the variable is
// called. It stays hidden even if the server echoes it.
func TestHeadersFromTheEnvironmentAreHidden(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "welcome "+r.Header.Get("X-Login"))
	}))
	defer server.Close()
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", filepath.Join(dir, ".state"))
	t.Setenv("DOOR", "knock-knock-knock")
	flow := fmt.Sprintf("steps: [{agent: http, config: {url: %q, headers: {X-Login: {env: DOOR}}}}]\n", server.URL)
	if err := os.WriteFile(filepath.Join(dir, "flow.yml"), []byte(flow), 0o600); err != nil {
		t.Fatal(err)
	}
	trustDir(t, dir, "flow.yml")
	var out, errs bytes.Buffer
	code := cli.Main([]string{"-C", dir, "run", "flow.yml", "--json"}, cli.Stdio{In: strings.NewReader(""), Out: &out, Err: &errs})
	if code != 0 || !strings.Contains(out.String(), `"output":"welcome `) || strings.Contains(out.String()+errs.String(), "knock") {
		t.Errorf("exit code %d\n%s%s", code, &out, &errs)
	}
	_ = filepath.WalkDir(filepath.Join(dir, ".state"), func(path string, _ os.DirEntry, _ error) error {
		if data, err := os.ReadFile(path); err == nil && bytes.Contains(data, []byte("knock")) {
			t.Errorf("%s holds the secret", path)
		}
		return nil
	})
}
