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

// finding is the result of a check: one line, and what to do about it.
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

// checkup is a check of doctor. An error means that the check could not run.
type checkup struct {
	name  string
	run   func(l operator, ctx context.Context) (finding, error)
	vital bool // if it fails, the checks after it are skipped
}

// checkups have the order in which an operator would check: the first failure is the first to fix.
var checkups = []checkup{
	{"database", operator.checkDatabase, true},
	{"postgres", operator.checkVersion, false},
	{"pooler", operator.checkPooler, false},
	{"schema", operator.checkSchema, true},
	{"restored dump", operator.checkRestored, false},
	{"connections", operator.checkConnections, false},
	{"locks", operator.checkLocks, false},
	{"snapshots", operator.checkSnapshots, false},
	{"writers", operator.checkWriters, false},
	{"replicas", operator.checkReplicas, false},
	{"workers", operator.checkWorkers, false},
	{"signing keys", operator.checkKeys, false},
	{"fleet", operator.checkFleet, false},
	{"seats", operator.checkSeats, false},
	{"agents", operator.checkAgents, false},
	{"lobby", operator.checkLobby, false},
	{"pools", operator.checkPools, false},
	{"invariants", operator.checkViolations, false},
	{"partitions", operator.checkPartitions, false},
	{"bloat", operator.checkBloat, false},
	{"replication", operator.checkReplication, false},
	{"clock", operator.checkClock, false},
}

// checkTimeout bounds a check. The queries are small: a database that needs longer than 5 s has a problem.
const checkTimeout = 5 * time.Second

// diagnosis is the output of doctor.
type diagnosis struct {
	State  string    `json:"state"` // the worst of the checks
	First  string    `json:"first,omitempty"`
	Checks []finding `json:"checks"`
}

func (p *program) doctor() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the installation, and print what to fix first",
		Long: "Checks the database, the schema, replicas, workers, keys, the fleet, Rivalis' agents, pools and common causes of a slow Postgres. Prints ok, warn\n" +
			"or fail for each, and what to do. It changes nothing. docs/operators.md explains each check.\n\n" +
			"Exit code 1 when a check fails; warnings alone are 0. The role needs the views of schema ops and pg_read_all_stats.",
		Example: "  director doctor\n  director doctor -o json | jq -r '.checks[] | select(.state != \"ok\") | .says'",
		Args:    cli.Exactly(0),
	}
	addFlags(cmd.Flags(), byOperator|byDoctor)
	cli.AddOutput(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return p.withDatabase(cmd, byOperator|byDoctor, func(ctx context.Context, l operator) error {
			d := l.examine(ctx)
			if err := d.write(l.out); err != nil {
				return err
			}
			return d.err()
		})
	}
	return cmd
}

func (l operator) examine(ctx context.Context) (d diagnosis) {
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

func (c checkup) examine(ctx context.Context, l operator) finding {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	f, err := c.run(l, ctx)
	if err != nil {
		f = failure("see the error; the role needs the views of schema ops (ops/grants.sql)", "could not be checked: %s", oneLine(explainDatabaseError(err)))
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
		_, err := fmt.Fprintln(out.To, "\nNo problems found.")
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
