// Command director is the whole control plane in one binary: it serves the API, runs the workers, moves the schema and
// lets operators look and steer. `director help` lists its sub-commands; each lies in the file of its name.
//
// This package reads what it is told (config.go) and puts the parts together; it decides nothing that db, server, worker or token could.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	code := cli.ExitCode(Run(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
	stop()
	os.Exit(code)
}

// Run is the program: args are those after its name, environ is written as os.Environ writes it. It returns when the
// command is done or, for those that run until told otherwise, when ctx ends and they have cleaned up. What went wrong
// is returned and has been said on stderr.
func Run(ctx context.Context, args, environ []string, stdin io.Reader, stdout, stderr io.Writer) error {
	p := &program{environ: newEnvironment(environ), stdout: stdout, stderr: stderr, stdin: stdin}
	root := p.root()
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = errInterrupted // it was still starting, and what it could not do then is nobody's concern
	}
	if err != nil {
		fmt.Fprintf(stderr, "director: %s\n", strings.ReplaceAll(err.Error(), "\n", "\ndirector: "))
		if cli.IsUsage(err) {
			fmt.Fprintf(stderr, "Run '%s --help' for how to use it.\n", cmd.CommandPath())
		}
	}
	return err
}

var errInterrupted = errors.New("interrupted")

// program is what all sub-commands share.
type program struct {
	environ        environment
	stdin          io.Reader
	stdout, stderr io.Writer
}

func (p *program) root() *cobra.Command {
	root := cli.Family(&cobra.Command{
		Use:   "director",
		Short: "The control plane for multiplayer game servers, on Postgres",
		Long: "Lattice Director: game servers register and send heartbeats, players get a seat on one of them and a short-lived\n" +
			"signed token, operators see and steer all of it. All state is in Postgres.\n\n" +
			"Every setting is a flag and an environment variable of the same name: --lease-ttl is DIRECTOR_LEASE_TTL. The flag wins.\n\n" +
			"Exit codes: 0 success; 1 the command failed, or a check found something wrong; 2 wrong use, such as an unknown flag or\n" +
			"a setting that is not allowed.",
		Example: "  director dev                      # everything on this machine, with a Postgres of its own\n" +
			"  director migrate up               # bring the schema of DATABASE_URL up to date\n" +
			"  director serve                    # a replica\n" +
			"  director work                     # a worker\n" +
			"  director doctor                   # what is wrong, and what to do first",
		SilenceUsage:  true,
		SilenceErrors: true,
	}, p.dev(), p.serve(), p.work(), p.migrate(), p.keys(), p.token(), p.fleet(), p.sessions(), p.events(), p.invariants(), p.doctor(), p.bench(), p.version())
	root.SetFlagErrorFunc(explainFlag)
	root.SetUsageFunc(func(cmd *cobra.Command) error { writeUsage(cmd.OutOrStdout(), cmd); return nil })
	completeWords(root)
	root.SetIn(p.stdin)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	root.InitDefaultHelpCmd()
	describeCompletion(root) // after SetOut, which it looks at once
	return root
}
