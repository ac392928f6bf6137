package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/cli"
)

// checkFirst adds a check of a command's arguments and flags, which runs before the command and after earlier checks.
func checkFirst(cmd *cobra.Command, check func(args []string) error) {
	earlier := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		// In the order in which they were added: a later check may rely on what an earlier one has filled in.
		if earlier != nil {
			if err := earlier(cmd, args); err != nil {
				return err
			}
		}
		return check(args)
	}
}

// parseFirst parses the first argument of a command before it runs. The result is valid once the command runs.
func parseFirst[T any](cmd *cobra.Command, parse func(arg string) (T, error)) *T {
	parsed := new(T)
	checkFirst(cmd, func(args []string) (err error) {
		*parsed, err = parse(args[0])
		return err
	})
	return parsed
}

// addReason adds --reason to a command. The command gets it trimmed, with at most db.MaxReason characters, as the
// database requires.
func addReason(cmd *cobra.Command, help string) *string {
	reason := cmd.Flags().String("reason", "", help)
	// Checked here and by the database: a reason that is too long must not cost a connection.
	checkFirst(cmd, func([]string) error {
		*reason = strings.TrimSpace(*reason)
		if utf8.RuneCountInString(*reason) > db.MaxReason {
			return cli.Usage(fmt.Errorf("--reason is not allowed to have more than %d characters", db.MaxReason))
		}
		return nil
	})
	return reason
}

// requireReason is addReason for a command that must have a reason. Without a default (""), the flag is required.
func requireReason(cmd *cobra.Command, defaultReason, help string) *string {
	reason := addReason(cmd, help)
	flag := cmd.Flags().Lookup("reason")
	// --help shows DefValue.
	*reason, flag.DefValue = defaultReason, defaultReason
	checkFirst(cmd, func([]string) error {
		switch {
		case *reason != "":
			return nil
		// An empty text and a missing flag get different errors: a script with an empty variable has given the flag.
		case flag.Changed:
			return cli.Usage(errors.New("--reason is not allowed to be empty: say why, the event has it beside your name"))
		}
		return cli.Usage(errors.New("--reason is missing: say why, the event has it beside your name"))
	})
	return reason
}

// authorship are the flags of commands that change a document, such as a pool or a profile.
type authorship struct{ author, reason *string }

// addAuthorship adds --author and --reason. Both are optional: a pipeline applies the same files again and again.
func addAuthorship(cmd *cobra.Command) authorship {
	// By default the login of the database, which the store fills in: only a pipeline knows a better author.
	return authorship{
		author: cmd.Flags().String("author", "",
			"The author, such as that of a commit that a pipeline applies; by default your database login"),
		reason: addReason(cmd, "Why, for the event and other operators"),
	}
}

// addLimit adds --limit, the most rows of a list, to a command.
func addLimit(cmd *cobra.Command, help string) *int {
	limit := cmd.Flags().Int("limit", 1000, help)
	requireAtLeast(cmd, "limit", limit, 1)
	return limit
}

// ifGiven returns the value of a flag, or nil where the command line does not have it: its zero value may be one that
// somebody wants. What is nil is not changed, and something new gets the default of the database.
func ifGiven[T any](cmd *cobra.Command, flag string, value *T) *T {
	if cmd.Flags().Changed(flag) {
		return value
	}
	return nil
}

// addYes adds --yes to a command that asks for a confirmation, for [program.askConfirmation].
func addYes(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("yes", false, "Do not ask for a confirmation")
}

// errNotConfirmed gives exit code 1: a script that forgot --yes must not take the command for done.
var errNotConfirmed = errors.New("nothing was changed: answer yes, or use --yes")

// askConfirmation tells a person the consequence of a command, and asks for a yes. With --yes it asks nothing.
func (p *program) askConfirmation(isConfirmed bool, consequence string) error {
	if isConfirmed {
		return nil
	}
	// On stderr, since stdout may go into a file or a pipe, where nobody would see the question.
	fmt.Fprintf(p.stderr, "%s\nType yes to continue: ", consequence)
	// Without input, as in a pipeline, the answer is empty: nothing is changed.
	answer, _ := bufio.NewReader(p.stdin).ReadString('\n')
	if strings.TrimSpace(answer) != "yes" {
		return errNotConfirmed
	}
	return nil
}

// writeDetails prints one thing: as JSON, or as text for people.
func writeDetails[T any](out cli.Output, details T, write func(T, cli.Output) error) error {
	if out.JSON {
		return cli.WriteJSON(out.Writer, details)
	}
	return write(details, out)
}

// program holds the inputs and outputs that all sub-commands share.
type program struct {
	environ        environment
	stdin          io.Reader
	stdout, stderr io.Writer
}
