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
	v := buildVersion()
	if a.json {
		return a.printJSON(map[string]any{
			"version": v, "engine": engine.Version, "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH,
		})
	}
	return a.print(fmt.Sprintf("hocket %s (engine %d, %s, %s/%s)\n", v, engine.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH))
}

// buildVersion is the module's version where the build knows one, else the
// revision it was built from.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return "devel-" + s.Value[:12]
		}
	}
	return "devel"
}
