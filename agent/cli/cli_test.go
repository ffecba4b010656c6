package cli

import (
	"testing"
)

func TestBuiltin(t *testing.T) {
	for _, name := range Builtin() {
		text, _ := manifests.ReadFile("manifests/" + name + ".yml")
		if _, found := ReadManifest(name+".yml", text); len(found) > 0 {
			t.Errorf("%s:\n%s", name, describe(found))
		}
	}
}
