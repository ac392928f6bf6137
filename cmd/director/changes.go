package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/cli"
)

// changeLine says whether a command changed anything.
type changeLine struct {
	ID      string `json:"id"`
	Changed bool   `json:"changed"`
}

// changeEach calls change for each id, prints the changes, and returns the errors of the refused ones. Each change is a
// transaction of its own: those before a refused one stay. An error that does not concern one id, such as an
// unreachable database, ends the loop.
func (op operator) changeEach(what string, ids []string, change func(id string) (bool, error)) error {
	var lines []changeLine
	var refused []error
	for _, id := range ids {
		changed, err := change(id)
		if err == nil {
			lines = append(lines, changeLine{id, changed})
			continue
		}
		refused = append(refused, explainDatabaseError(err))
		// The others would fail for the same reason.
		if !concernsOne(err) {
			break
		}
	}
	// As JSON also an empty list, for scripts that parse stdout.
	if len(lines) > 0 || op.out.JSON {
		refused = append(refused, writeChanges(op.out, what, lines))
	}
	return errors.Join(refused...)
}

// writeChanges prints for each id whether something changed. false is a success as well, so that a script may repeat a
// command.
func writeChanges(out cli.Output, what string, lines []changeLine) error {
	return cli.Write(out, lines, []string{what, "changed"}, func(c changeLine) []any { return []any{c.ID, c.Changed} })
}

// changeRows completes a command that calls a function of schema ops for each row that the arguments name. Completion
// offers the words.
func (p *program) changeRows(
	cmd *cobra.Command, noun string, w words, change func(by db.Act, ctx context.Context, id string) (bool, error),
) *cobra.Command {
	cmd.Args = cli.AtLeast(1)
	cmd.ValidArgsFunction = p.completeArgs(w)
	return p.onDatabase(cmd, byOperator, func(ctx context.Context, op operator, ids []string) error {
		// As(""): events name the login of the database.
		return op.changeEach(noun, ids, func(id string) (bool, error) { return change(op.store.As(""), ctx, id) })
	})
}
