package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/internal/cli"
)

// bench says where the benchmark went: people who read of it somewhere type this.
func (p *program) bench() *cobra.Command {
	return &cobra.Command{
		Use:                "bench",
		Hidden:             true,
		Short:              "Say where the benchmark is",
		Long:               "The benchmark is a program of its own, so that the product carries no load generator and no plots.",
		Example:            "  director-bench matchmake --callers 64",
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true}, // whatever the old command was told
		RunE: func(*cobra.Command, []string) error {
			return cli.Usage(errors.New("the benchmark is a program of its own, director-bench: 'make build' puts it beside this one, and " +
				"'go install github.com/lattice-director/director/cmd/director-bench@latest' into your path"))
		},
	}
}
