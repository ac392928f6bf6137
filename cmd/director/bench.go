package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/internal/cli"
)

// benchCommand points to director-bench, because the benchmark was a sub-command in earlier releases.
func (p *program) benchCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "bench",
		Hidden:             true, // completion and --help do not offer it
		Short:              "Print where the benchmark is",
		Long:               "The benchmark is a separate program, director-bench, so that this binary contains no load generator and no plots.",
		Example:            "  director-bench matchmake --callers 64",
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true}, // flags of the old command
		// Always an error: a script that still calls `director bench` must notice.
		RunE: func(*cobra.Command, []string) error {
			return cli.Usage(errors.New("the benchmark is a separate program, director-bench: 'make build' builds it beside this one, and each release has it"))
		},
	}
}
