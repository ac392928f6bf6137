// Command director-bench measures a director: a running one, or one that it starts in a laboratory with a durable
// Postgres. It is a separate program so that no load generator or baseline is linked into the product; it starts
// the product's binary and calls it as any client does.
//
// scenario.go runs one load on one director, prove.go the experiments of docs/performance.md, and baseline.go serves
// the baselines. Package bench generates the loads.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/lattice-director/director/internal/cli"
)

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

// program is shared by all commands.
type program struct {
	environ []string
	stderr  io.Writer
}

// variable returns the value of an environment variable; "" when it is not set.
func (p *program) variable(name string) string {
	for _, pair := range p.environ {
		if key, text, _ := strings.Cut(pair, "="); key == name {
			return text
		}
	}
	return ""
}
