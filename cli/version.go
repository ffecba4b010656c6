package cli

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hocket-dev/hocket/engine"
	"github.com/hocket-dev/hocket/internal/sorted"
)

func (a *app) versionVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long: `Print the version of hocket, the engine version that is recorded with every run,
the Go version and platform of the build, and which drivers it has for runs elsewhere.`,
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
		if drivers := a.drivers(); len(drivers) > 0 {
			facts["drivers"] = drivers
		}
		if b.commit != "" {
			facts["commit"], facts["date"] = b.commit, b.date
		}
		return a.printJSON(facts)
	}
	from := ""
	if b.commit != "" {
		from = fmt.Sprintf("commit %.12s of %s, ", b.commit, b.date)
	}
	with := ""
	if drivers := a.drivers(); len(drivers) > 0 {
		with = ", with " + strings.Join(drivers, " and ")
	}
	return a.print(fmt.Sprintf("hocket %s (%sengine %d, %s, %s/%s%s)\n", b.version, from, engine.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH, with))
}

// drivers returns the names of the drivers that this program has in addition to that for this machine.
func (a *app) drivers() []string { return sorted.Keys(a.with.Drivers) }

// version is the version of a program in another module, which the linker sets.
var version string

// build is what Go recorded about the source of the program. There is no commit after
// `go install` of a version, or after a build outside of a clone.
type build struct{ version, commit, date string }

func buildOf() build {
	b := build{version: cmp.Or(version, "devel")}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if v := info.Main.Version; version == "" && v != "" && v != "(devel)" {
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
