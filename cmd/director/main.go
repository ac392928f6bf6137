// Command director is the control plane in one binary: it serves the API, runs the workers, migrates the schema, and
// has commands for operators. `director help` lists its sub-commands; each is in the file of its name.
//
// This package reads the settings (config.go, and a config_*.go for each part) and connects the parts. Decisions belong
// to packages db, server, worker and token.
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
	context.AfterFunc(ctx, stop) // so that a second signal ends the program at once
	// 0 to 3, as the help of the root says: scripts tell wrong usage (2) and a difference (3) from a failure (1).
	code := cli.ExitCode(Run(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
	stop()
	os.Exit(code) // here alone: it runs no deferred calls, so that Run must have returned
}

// Run runs the program with the arguments after its name and an environment in the format of os.Environ. It returns
// when the command is done. Servers and workers run until ctx ends, and Run then returns after their cleanup. It writes
// an error to stderr before it returns it.
func Run(ctx context.Context, args, environ []string, stdin io.Reader, stdout, stderr io.Writer) error {
	p := &program{environ: newEnvironment(environ), stdout: stdout, stderr: stderr, stdin: stdin}
	root := p.rootCommand()
	// Also where there are none: cobra takes those of os.Args if it gets nil, and tests call Run with their own.
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = errInterrupted // the error says only which call the interrupt has ended
	}
	if err != nil {
		// The prefix is before each line, so that a search of a log for "director:" finds the whole error.
		fmt.Fprintf(stderr, "director: %s\n", strings.ReplaceAll(err.Error(), "\n", "\ndirector: "))
		if cli.IsUsage(err) {
			fmt.Fprintf(stderr, "Run '%s --help' for usage.\n", cmd.CommandPath())
		}
	}
	return err
}

// errInterrupted is the error of a command that a signal has ended before it was done: exit code 1.
var errInterrupted = errors.New("interrupted")

func (p *program) rootCommand() *cobra.Command {
	root := cli.Family(&cobra.Command{
		Use:   "director",
		Short: "The control plane for multiplayer game servers, on Postgres",
		Long: "Lattice Director: game servers register and send heartbeats, players get a seat on one of them and a short-lived\n" +
			"signed token, operators inspect and control both. All state is in Postgres.\n\n" +
			"Every setting is a flag and an environment variable of the same name: --lease-ttl is DIRECTOR_LEASE_TTL. The flag wins.\n\n" +
			"Exit codes: 0 success; 1 the command failed, or a check found a problem; 2 wrong usage, such as an unknown flag or an\n" +
			"invalid setting; 3 'apply --dry-run' found something to change.",
		Example: "  director dev                      # everything on this machine, with a private Postgres\n" +
			"  director migrate up               # bring the schema of DATABASE_URL up to date\n" +
			"  director serve                    # a replica\n" +
			"  director work                     # a worker\n" +
			"  director doctor                   # check the installation, and print what to fix first",
		// Run prints errors itself, with a prefix and without the whole usage text.
		SilenceUsage:  true,
		SilenceErrors: true,
	}, p.benchCommand(), p.versionCommand())
	// The groups of the console, after what runs the director.
	addGroup(root, "Run", p.devCommand(), p.serveCommand(), p.workCommand(), p.sidecarCommand(), p.migrateCommand())
	addGroup(root, "Overview", p.doctorCommand(), p.atCommand(), p.invariantsCommand(), p.mcpCommand())
	addGroup(root, "Game servers", p.fleetCommand(), p.enrolmentsCommand(), p.sessionsCommand(), p.regionsCommand(),
		p.cellsCommand(), p.capacityCommand(),
		p.evacuateCommand(), p.evacuationsCommand())
	addGroup(root, "Players", p.playersCommand(), p.eraseCommand(), p.profilesCommand(), p.explainCommand(),
		p.replayCommand(), p.simulateCommand(), p.tokenCommand(), p.valvesCommand())
	addGroup(root, "Rooms", p.agentsCommand(), p.roomsCommand(), p.projectsCommand())
	addGroup(root, "System", p.applyCommand(), p.poolsCommand(), p.deploymentsCommand(), p.providersCommand(),
		p.eventsCommand(), p.webhooksCommand(),
		p.keysCommand())
	root.SetFlagErrorFunc(explainFlag)
	root.SetUsageFunc(func(cmd *cobra.Command) error { writeUsage(cmd.OutOrStdout(), cmd); return nil })
	// After all flags of all commands are there.
	completeWords(root)
	root.SetIn(p.stdin)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	root.InitDefaultHelpCmd()
	describeCompletion(root) // after SetOut, because cobra reads the output when it makes the command
	return root
}

// addGroup adds commands below a title of their own in --help.
func addGroup(root *cobra.Command, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, cmd := range commands {
		cmd.GroupID = title
	}
	root.AddCommand(commands...)
}
