package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/internal/cli"
)

// The states of a finding, from good to bad.
const (
	stateOK   = "ok"
	stateWarn = "warn"
	stateFail = "fail"
)

// finding is what a check found, in one line, and what to do about it.
type finding struct {
	Check string `json:"check"`
	State string `json:"state"` // ok, warn or fail
	Says  string `json:"says"`
	Do    string `json:"do,omitempty"`
}

func good(says string, args ...any) finding {
	return finding{State: stateOK, Says: fmt.Sprintf(says, args...)}
}

func warning(do, says string, args ...any) finding {
	return finding{State: stateWarn, Says: fmt.Sprintf(says, args...), Do: do}
}

func failure(do, says string, args ...any) finding {
	return finding{State: stateFail, Says: fmt.Sprintf(says, args...), Do: do}
}

// checkup is a check of doctor. Its error means that it could not look.
type checkup struct {
	name  string
	run   func(l look, ctx context.Context) (finding, error)
	vital bool // the checks after it make no sense when it fails
}

// checkups are in the order in which an operator would go: the first that fails is the first thing to mend.
var checkups = []checkup{
	{"database", look.checkDatabase, true},
	{"postgres", look.checkVersion, false},
	{"pooler", look.checkPooler, false},
	{"schema", look.checkSchema, true},
	{"restored dump", look.checkRestored, false},
	{"connections", look.checkConnections, false},
	{"locks", look.checkLocks, false},
	{"snapshots", look.checkSnapshots, false},
	{"writers", look.checkWriters, false},
	{"replicas", look.checkReplicas, false},
	{"workers", look.checkWorkers, false},
	{"signing keys", look.checkKeys, false},
	{"fleet", look.checkFleet, false},
	{"seats", look.checkSeats, false},
	{"invariants", look.checkViolations, false},
	{"partitions", look.checkPartitions, false},
	{"bloat", look.checkBloat, false},
	{"replication", look.checkReplication, false},
	{"clock", look.checkClock, false},
}

// checkTimeout is how long a check may take: a database that needs longer for these questions is in trouble itself.
const checkTimeout = 5 * time.Second

// diagnosis is what doctor prints.
type diagnosis struct {
	State  string    `json:"state"` // the worst of the checks
	First  string    `json:"first,omitempty"`
	Checks []finding `json:"checks"`
}

func (p *program) doctor() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check everything an operator would at 3 a.m., and say what to do first",
		Long: "Checks the database, the schema, replicas, workers, keys, the fleet and what slows Postgres down: ok, warn or fail, a line\n" +
			"each, and what to do. It changes nothing. docs/operators.md has more on each.\n\n" +
			"Exit code 1 when a check fails; warnings alone are 0. The role needs the views of schema ops and pg_read_all_stats.",
		Example: "  director doctor\n  director doctor -o json | jq -r '.checks[] | select(.state != \"ok\") | .says'",
		Args:    cli.Exactly(0),
	}
	addFlags(cmd.Flags(), byLook|byDoctor)
	cli.AddOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return p.withLook(cmd, byLook|byDoctor, func(ctx context.Context, l look) error {
			d := l.examine(ctx)
			if err := d.write(l.out); err != nil {
				return err
			}
			return d.err()
		})
	}
	return cmd
}

func (l look) examine(ctx context.Context) (d diagnosis) {
	d.State = stateOK
	for _, c := range checkups {
		f := c.examine(ctx, l)
		d.Checks = append(d.Checks, f)
		if badness(f.State) > badness(d.State) {
			d.State, d.First = f.State, f.Check+": "+f.Do
		}
		if c.vital && f.State == stateFail || ctx.Err() != nil {
			break
		}
	}
	return d
}

func badness(state string) int { return slices.Index([]string{stateOK, stateWarn, stateFail}, state) }

func (c checkup) examine(ctx context.Context, l look) finding {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	f, err := c.run(l, ctx)
	if err != nil {
		f = failure("see the error; the role needs the views of schema ops (ops/grants.sql)", "could not be checked: %s", oneLine(explain(err)))
	}
	f.Check = c.name
	return f
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

func (d diagnosis) write(out cli.Output) error {
	if out.JSON {
		return cli.WriteJSON(out.To, d)
	}
	for _, f := range d.Checks {
		fmt.Fprintf(out.To, "%-4s  %-13s  %s\n", f.State, f.Check, f.Says)
		if f.Do != "" {
			fmt.Fprintf(out.To, "%21s> %s\n", "", f.Do)
		}
	}
	if d.First == "" {
		_, err := fmt.Fprintln(out.To, "\nAll is well.")
		return err
	}
	_, err := fmt.Fprintf(out.To, "\nFirst: %s\n", d.First)
	return err
}

func (d diagnosis) err() error {
	if d.State != stateFail {
		return nil
	}
	return errors.New("a check failed")
}
