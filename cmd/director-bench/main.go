// Command director-bench measures a director: one that runs already, or one of its own as processes of a laboratory with a
// durable Postgres. It is a program of its own so that nothing of a load, a plot or a baseline is linked into the product;
// it starts the product's binary and calls it as any client does.
//
// scenario.go is one load on one director, prove.go the experiments of docs/performance.md, baseline.go what a director is
// compared with. What a load is lies in package bench.
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

// Run is the program: args are those after its name, environ is written as os.Environ writes it. It returns when the
// command is done, or has cleaned up after ctx ended. What went wrong is returned and has been said on stderr.
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

// program is what all commands share.
type program struct {
	environ []string
	stderr  io.Writer
}

// variable is the value of an environment variable, "" where it is not set.
func (p *program) variable(name string) string {
	for _, pair := range p.environ {
		if key, text, _ := strings.Cut(pair, "="); key == name {
			return text
		}
	}
	return ""
}
