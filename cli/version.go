package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket/engine"
)

func (a *app) versionVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the version of hocket",
		Long: `Print the version of hocket, the version of the engine's behaviour that its
runs are recorded with, and what it was built with.`,
		Example: `  hocket version
  hocket version --json`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return a.version() },
	}
}

func (a *app) version() error {
	b := buildOf()
	if a.json {
		facts := map[string]any{"version": b.version, "engine": engine.Version, "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH}
		if b.commit != "" {
			facts["commit"], facts["date"] = b.commit, b.date
		}
		return a.printJSON(facts)
	}
	from := ""
	if b.commit != "" {
		from = fmt.Sprintf("commit %.12s of %s, ", b.commit, b.date)
	}
	return a.print(fmt.Sprintf("hocket %s (%sengine %d, %s, %s/%s)\n", b.version, from, engine.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH))
}

// build is what the program was built from, as far as Go recorded it. `go install` of a
// version records no commit, and a build outside of a clone neither.
type build struct{ version, commit, date string }

func buildOf() build {
	b := build{version: "devel"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.version = v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.commit = s.Value
		case "vcs.time":
			b.date = s.Value
		}
	}
	return b
}
