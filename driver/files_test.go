package driver_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hocket-dev/hocket/driver"
)

const sum, otherSum = "100644 0123456789abcdef0123456789abcdef", "100644 1123456789abcdef0123456789abcdef"

func TestFilesDiffer(t *testing.T) {
	many := map[string]string{}
	for i := range 300 {
		many[fmt.Sprintf("f%03d", i)] = sum
	}
	for _, c := range []struct {
		name        string
		here, start map[string]string
		want        string
	}{
		{"changed", map[string]string{"a": sum, "b": otherSum}, map[string]string{"a": sum, "b": sum}, `"b"`},
		{"new here", map[string]string{"a\n": sum}, nil, `"a\n"`},
		{"new there", nil, map[string]string{"a": sum}, `"a"`},
		{"deleted here", map[string]string{"a": ""}, nil, `"a"`},
		{"many", many, nil, `"f000", "f001", "f002", "f003", "f004" and 295 more`},
		{"many there", map[string]string{"f050": sum, "f299": sum}, many, `"f000", "f001", "f002", "f003", "f004" and 94 more`},
		{"unknown", with(many, "z"), many, ""},
		{"known of many", with(many, "a"), many, `"a"`},
		{"long paths", map[string]string{"a": sum}, map[string]string{strings.Repeat("x", 10000): sum}, ""},
	} {
		here, start := driver.FilesAt(at(c.here, "1"), c.here), driver.FilesAt(at(c.start, "2"), c.start)
		pin := &driver.Pin{Files: start.At, Changed: start.Short()}
		want := "commit a with other changes: " + c.want
		if c.want == "" {
			want = here.At + " instead of " + start.At
		}
		if got := here.Differ(pin); got != want {
			t.Errorf("%s: %q, want %q", c.name, got, want)
		}
	}
	here := driver.FilesAt("commit a with changes 1", map[string]string{"a": sum})
	for want, files := range map[string]string{
		"commit a with changes 1 instead of commit b with changes 1": "commit b with changes 1",
		"commit a with changes 1 instead of commit a with changes 2": "commit a with changes 2", // of an older version
	} {
		if got := here.Differ(&driver.Pin{Files: files}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := (driver.Files{}).Differ(&driver.Pin{Files: "commit a"}); got != "no git repository instead of commit a" {
		t.Error(got)
	}
}

func with(files map[string]string, name string) map[string]string {
	all := map[string]string{name: sum}
	for name, sum := range files {
		all[name] = sum
	}
	return all
}

func at(changed map[string]string, digest string) string {
	if len(changed) == 0 {
		return "commit a"
	}
	return "commit a with changes " + digest
}
