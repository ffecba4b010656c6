package secret_test

import (
	"runtime"
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
	if got := secret.Harmless([]string{"path=/bin"}); (len(got) > 0) != (runtime.GOOS == "windows") {
		t.Errorf("Harmless: %q", got)
	}
	kept, withheld := secret.Usual(env, "PATH")
	if want := []string{"LC_ALL=C", "GOFLAGS=-v"}; !slices.Equal(kept, want) {
		t.Errorf("Usual: %q, want %q", kept, want)
	}
	if want := []string{"DB_PASSWORD", "MY_API_KEY", "TOKEN", "apikey", "AUTHOR", "MONKEY", "PATH"}; !slices.Equal(secret.LikelyFirst(withheld), want) {
		t.Errorf("withheld: %q, want %q", withheld, want)
	}
	for _, pair := range []string{"HTTP_PROXY=me:word@proxy:8080", "https_proxy=http://me:w/d@proxy:1", "GOPROXY=https://token@host"} {
		if kept, _ := secret.Usual([]string{pair}); len(kept) > 0 {
			t.Errorf("%s is left", pair)
		}
	}
	for pair, want := range map[string]bool{
		"HTTP_PROXY=http://proxy:8080": true, "HOCKET_DIR=x": true, "HOCKET_TOKEN=x": false, "LC_TIME=C": true, "GOPATH=/me@host": true, "EDITOR=vi": true, "UNHEARD_OF=x": false, "HOME=/x": true,
		"XDG_DATA_HOME=postgres://me:word@host": false,
	} {
		kept, withheld := secret.Usual([]string{pair})
		if (len(kept) == 1) != want || (len(withheld) == 0) != want {
			t.Errorf("%s: kept %q, withheld %q", pair, kept, withheld)
		}
	}
	if got := secret.LikelyFirst([]string{"B", "A_TOKEN", "B", "A"}); !slices.Equal(got, []string{"A_TOKEN", "A", "B"}) {
		t.Errorf("likely first: %q", got)
	}
	if len(env) != 10 || env[4] != "MY_API_KEY=a" {
		t.Errorf("the environment itself was changed: %q", env)
	}
}

// Common names for secrets in programs and services are known, and so is an address with
// a password in it.
func TestSecretVariables(t *testing.T) {
	for _, pair := range []string{
		"ANTHROPIC_API_KEY=x", "GITHUB_TOKEN=x", "GH_TOKEN=x", "AWS_ACCESS_KEY_ID=x", "AWS_SESSION_TOKEN=x", "AWS_ROLE_ARN=x", "NPM_TOKEN=x", "SLACK_WEBHOOK_URL=x",
		"SENTRY_DSN=x", "PGPASSWORD=x", "GOOGLE_APPLICATION_CREDENTIALS=x", "SSH_AUTH_SOCK=x", "SESSION_COOKIE=x", "CI_JOB_JWT=x", "DATABASE_URL=postgres://me:word@host/db",
		"REDIS=redis://:word@host:6379", "https_proxy=http://me:word@proxy:3128",
	} {
		if left := secret.Unsecret([]string{pair}); len(left) > 0 {
			t.Errorf("%s is left", pair)
		}
	}
	for _, pair := range []string{"AWS_REGION=eu", "HOME=/home/me", "KEYBOARD=de", "EDITOR=vi", "URL=https://host/a:b@c", "MAIL=me@host", "http_proxy=http://proxy:3128", "PATTERN=x", "WEBHOOKS=1"} {
		if left := secret.Unsecret([]string{pair}); len(left) == 0 {
			t.Errorf("%s is gone", pair)
		}
	}
}
