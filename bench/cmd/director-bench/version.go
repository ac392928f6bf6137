package main

import (
	"cmp"
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/internal/cli"
)

// version is set by the linker: -ldflags "-X main.version=v1.2.3".
var version string

// version is the command that prints the version, or that of the module, or dev.
func (p *program) version() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print which build this is",
		Example: "  director-bench version",
		Args:    cli.Exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			built := ""
			if info, ok := debug.ReadBuildInfo(); ok {
				built = info.Main.Version
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "director-bench", cmp.Or(version, built, "dev"))
			return err
		},
	}
}
