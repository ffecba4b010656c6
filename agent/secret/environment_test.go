package secret_test

import (
	"slices"
	"testing"

	"github.com/hocket-dev/hocket/agent/secret"
)

func TestEnvironment(t *testing.T) {
	env := []string{"PATH=/bin", "LC_ALL=C", "GOFLAGS=-v", "MONKEY=banana", "MY_API_KEY=a", "apikey=b", "DB_PASSWORD=c", "AUTHOR=me", "=odd", "TOKEN"}
	if got, want := secret.Harmless(env), []string{"PATH=/bin", "LC_ALL=C"}; !slices.Equal(got, want) {
		t.Errorf("Harmless: %q, want %q", got, want)
	}
	want := []string{"PATH=/bin", "LC_ALL=C", "GOFLAGS=-v", "MONKEY=banana", "AUTHOR=me", "=odd"}
	if got := secret.Unsecret(env); !slices.Equal(got, want) {
		t.Errorf("Unsecret: %q, want %q", got, want)
	}
	if len(env) != 10 || env[4] != "MY_API_KEY=a" {
		t.Errorf("the environment itself was changed: %q", env)
	}
}
