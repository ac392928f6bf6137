package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/migrations"
)

// version is set by the linker: -ldflags "-X main.version=v1.2.3".
var version string

// build describes this binary.
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Schema   int64  `json:"schema"` // the version that it contains and needs
}

// buildVersion works for each way to build: a release sets the version by the linker, `go install` has that of the
// module, and a build of the sources is "dev".
func buildVersion() build {
	b := build{Version: version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Schema: migrations.Latest()}
	info, ok := debug.ReadBuildInfo()
	if ok {
		// What the linker set, else the version of the module, which `go install` knows.
		b.Version = cmp.Or(b.Version, info.Main.Version)
		for _, s := range info.Settings {
			// Not there in a build without version control, such as one from a module: the commit is then empty.
			if s.Key == "vcs.revision" {
				b.Commit = s.Value
			}
		}
	}
	b.Version = cmp.Or(b.Version, "dev")
	return b
}

func (p *program) versionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Long:    "Prints the version of this build, and the version of the schema that it contains and needs.",
		Example: "  director version\n  director version -o json | jq -r .schema",
		Args:    cli.Exactly(0),
	}
	cli.AddOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		out, err := cli.OutputOf(cmd)
		if err != nil {
			return err
		}
		b := buildVersion()
		if out.JSON {
			return cli.WriteJSON(out.Writer, b)
		}
		fmt.Fprintf(out.Writer, "director %s (schema %d, %s, %s)\n", b.Version, b.Schema, b.Go, b.Platform)
		return nil
	}
	return cmd
}
