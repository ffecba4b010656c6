package secret

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// harmless are the variables that a program needs to work at all.
var harmless = strings.Fields(`PATH HOME USER LOGNAME LANG LANGUAGE TZ TMPDIR TEMP TMP TERM
	SystemRoot SystemDrive ComSpec PATHEXT USERPROFILE APPDATA LOCALAPPDATA ProgramData ProgramFiles WINDIR`)

// Harmless is what of an environment is handed down to a program that was not asked to
// know more: any other variable may hold a secret.
func Harmless(env []string) []string {
	var kept []string
	for _, pair := range env {
		name, _, _ := strings.Cut(pair, "=")
		if slices.Contains(harmless, name) || strings.HasPrefix(name, "LC_") {
			kept = append(kept, pair)
		}
	}
	return kept
}

// telling is how variables are called that hold what nobody should see.
var telling = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(^|_)(keys?|pat|pass|credentials?|auth|jwt|bearer|cookies?|dsn|webhook|sas)(_|$)|apikey|tokens?(_|$)|secret|passw|passphrase|._pwd$|sshpass|privkey|^aws_(access|session|container|web|role)`)
})

// loginURL is a value with a password in it: postgres://me:password@host/db.
var loginURL = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`://[^/?#\s:@]*:[^/?#\s@]+@`) })

// Unsecret is an environment without the variables that are named, those whose names
// say that they hold a secret, and addresses with a password: for commands that a model
// types and for projects that nobody has trusted, which may need any other variable.
func Unsecret(env []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(pair string) bool {
		name, value, _ := strings.Cut(pair, "=")
		return slices.Contains(names, name) || telling().MatchString(name) || loginURL().MatchString(value)
	})
}
