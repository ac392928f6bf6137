// Command director-bench measures a director: a running one, or one that it starts in a laboratory with a durable
// Postgres. It is a separate program so that no load generator or baseline is linked into the product; it starts
// the product's binary and calls it as any client does.
//
// scenario.go runs one load on one director, prove.go the experiments of docs/performance.md, and baseline.go serves
// the baselines. Package bench generates the loads.
package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/internal/cli"
)

// version is set by the linker: -ldflags "-X main.version=v1.2.3".
var version string

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	code := cli.ExitCode(Run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr))
	stop()
	os.Exit(code)
}

// Run is the program: args are those after its name, environ is in the form of os.Environ. It returns when the command
// has ended, or has cleaned up after ctx ended. It prints its error on stderr and returns it.
func Run(ctx context.Context, args, environ []string, stdout, stderr io.Writer) error {
	p := &program{environ: environ, stderr: stderr}
	root := p.root()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil {
		fmt.Fprintf(stderr, "director-bench: %s\n", strings.ReplaceAll(err.Error(), "\n", "\ndirector-bench: "))
		if cli.IsUsage(err) {
			fmt.Fprintf(stderr, "Run '%s --help' for how to use it.\n", cmd.CommandPath())
		}
	}
	return err
}

// root is the command that measures a scenario, with the others below it.
func (p *program) root() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "director-bench SCENARIO",
		Short: "Measure how fast a director answers, and what its answers cost",
		Long: "Puts a load on a director and prints throughput, latency, and what a call costs: CPU, WAL, transactions.\n\n" +
			scenariosText() + methodText,
		Example: "  director-bench matchmake\n" +
			"  director-bench matchmake --callers 1,16,64,256\n" +
			"  director-bench heartbeat --rate 2000 --instances 10000 --callers 256 --duration 1m\n" +
			"  director-bench session-life --callers 256 --duration 30s --output json | jq .per_second\n" +
			"  director-bench fetch --tickets 10000 --window 250ms\n" +
			"  director-bench match-queue --tickets 10000\n" +
			"  director-bench room-create --callers 1,8,32,128 --agents 200\n" +
			"  director-bench rooms-patch --replicas 2 --rate 500\n" +
			"  director-bench resolve --url http://localhost:8080        # a 'director dev' that runs here",
		Args:          cli.Exactly(1),
		ValidArgs:     scenarioNames(),
		Version:       cmp.Or(version, "dev"),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	b := &benchmark{program: p}
	b.addFlags(cmd.Flags())
	p.addMeasurement(cmd, func(args []string) error { return b.check(args[0], cmd.Flags()) }, b.run)
	cmd.AddCommand(p.prove(), p.baseline())
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return cli.Usage(err) })
	return cmd
}
