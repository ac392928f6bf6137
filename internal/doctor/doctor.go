// Package doctor checks an installation: the database, the schema, replicas, workers, keys, the fleet and common causes of a slow
// Postgres. `director doctor` prints what it finds, and the console shows it. It changes nothing.
package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lattice-director/director/db"
)

// Doctor examines an installation. Safe for concurrent use.
type Doctor struct {
	Store   *db.Store
	Pooler  string                // the setting: pgbouncer, or none
	Direct  bool                  // whether there is a connection that bypasses a pooler
	Explain func(err error) error // says what to do about an error of the database; nil: the error as it is
}

func (d Doctor) explained(err error) error {
	if d.Explain == nil {
		return err
	}
	return d.Explain(err)
}

// The states of a Finding, from good to bad.
const (
	OK   = "ok"
	Warn = "warn"
	Fail = "fail"
)

// Finding is the result of a check: one line, and what to do about it.
type Finding struct {
	Check string `json:"check"`
	State string `json:"state"` // ok, warn or fail
	Says  string `json:"says"`
	Do    string `json:"do,omitempty"`
}

func good(says string, args ...any) Finding {
	return Finding{State: OK, Says: fmt.Sprintf(says, args...)}
}

func warning(do, says string, args ...any) Finding {
	return Finding{State: Warn, Says: fmt.Sprintf(says, args...), Do: do}
}

func failure(do, says string, args ...any) Finding {
	return Finding{State: Fail, Says: fmt.Sprintf(says, args...), Do: do}
}

// checkup is a check of doctor. An error means that the check could not run.
type checkup struct {
	name  string
	run   func(d Doctor, ctx context.Context) (Finding, error)
	vital bool // if it fails, the checks after it are skipped
}

// checkups have the order in which an operator would check: the first failure is the first to fix.
var checkups = []checkup{
	{"database", Doctor.checkDatabase, true},
	{"postgres", Doctor.checkVersion, false},
	{"pooler", Doctor.checkPooler, false},
	{"schema", Doctor.checkSchema, true},
	{"restored dump", Doctor.checkRestored, false},
	{"connections", Doctor.checkConnections, false},
	{"locks", Doctor.checkLocks, false},
	{"snapshots", Doctor.checkSnapshots, false},
	{"writers", Doctor.checkWriters, false},
	{"replicas", Doctor.checkReplicas, false},
	{"workers", Doctor.checkWorkers, false},
	{"signing keys", Doctor.checkKeys, false},
	{"fleet", Doctor.checkFleet, false},
	{"seats", Doctor.checkSeats, false},
	{"agents", Doctor.checkAgents, false},
	{"lobby", Doctor.checkLobby, false},
	{"pools", Doctor.checkPools, false},
	{"invariants", Doctor.checkViolations, false},
	{"partitions", Doctor.checkPartitions, false},
	{"bloat", Doctor.checkBloat, false},
	{"replication", Doctor.checkReplication, false},
	{"clock", Doctor.checkClock, false},
}

// checkTimeout bounds a check. The queries are small: a database that needs longer than 5 s has a problem.
const checkTimeout = 5 * time.Second

// Diagnosis is what an examination found.
type Diagnosis struct {
	State  string    `json:"state"` // the worst of the checks
	First  string    `json:"first,omitempty"`
	Checks []Finding `json:"checks"`
}

// Examine runs the checks, in the order in which an operator would check. It changes nothing, and takes 5 s for each check at most.
func (d Doctor) Examine(ctx context.Context) (found Diagnosis) {
	found.State = OK
	for _, c := range checkups {
		f := c.examine(ctx, d)
		found.Checks = append(found.Checks, f)
		if badness(f.State) > badness(found.State) {
			found.State, found.First = f.State, f.Check+": "+f.Do
		}
		if c.vital && f.State == Fail || ctx.Err() != nil {
			break
		}
	}
	return found
}

func badness(state string) int { return slices.Index([]string{OK, Warn, Fail}, state) }

func (c checkup) examine(ctx context.Context, d Doctor) Finding {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	f, err := c.run(d, ctx)
	if err != nil {
		f = failure("see the error; the role needs the views of schema ops (ops/grants.sql)", "could not be checked: %s", oneLine(d.explained(err)))
	}
	f.Check = c.name
	return f
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}
