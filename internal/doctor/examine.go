package doctor

import (
	"context"
	"slices"
)

// checkup is a check of doctor. An error means that the check could not run.
type checkup struct {
	name           string
	runbookSection string // the heading in docs/runbook.md of what it finds, unless the Finding names another
	runFunc        func(d Doctor, ctx context.Context) (Finding, error)
	isVital        bool // if it fails, the checks after it are skipped
	isWatched      bool // workers make it as well, every few seconds, for alerts: it is cheap
}

// checkups have the order in which an operator would check: among findings of the same state, the first is the first to
// fix.
var checkups = []checkup{
	// name, runbookSection, runFunc, isVital, isWatched
	{"database", "Players get 503", Doctor.checkDatabase, true, false},
	{"postgres", "Players get 503", Doctor.checkVersion, false, false},
	{"pooler", "Players get 503", Doctor.checkPooler, false, false},
	{"schema", "Players get 503", Doctor.checkSchema, true, false},
	{"restored dump", "Players get 503", Doctor.checkRestored, false, false},
	{"writes", "The database refuses writes", Doctor.checkWrites, false, true},
	{"connections", "Everything got slow within minutes", Doctor.checkConnections, false, false},
	{"locks", "Everything got slow within minutes", Doctor.checkLocks, false, false},
	{"snapshots", "Everything got slow within minutes", Doctor.checkSnapshots, false, false},
	{"writers", "Everything got slow within minutes", Doctor.checkWriters, false, false},
	{"replicas", "Players get 503", Doctor.checkReplicas, false, true},
	{"workers", "No worker runs", Doctor.checkWorkers, false, true},
	{"signing keys", "Game servers refuse tokens, or resolve fails", Doctor.checkKeys, false, true},
	{"sealing keys", "A key-encryption key is missing or being replaced", Doctor.checkKEKs, false, true},
	{"key sets", "Logins and players' tokens are refused", Doctor.checkKeySets, false, true},
	{"fleet", "Game servers die or fall silent", Doctor.checkFleet, false, true},
	{"seats", "Reserved seats far above players", Doctor.checkSeats, false, true},
	{"drains", "A host must go down", Doctor.checkDrains, false, true},
	{"enrolments", "Game servers get no credential", Doctor.checkEnrolments, false, true},
	{"refusals", "Players are refused", Doctor.checkRefusals, false, true},
	{"tickets", "Players wait for a match", Doctor.checkTickets, false, true},
	{"agents", "Rivalis game servers vanish or do not answer", Doctor.checkAgents, false, true},
	{"lobby", "Clients of the realtime lobby are refused or lose their connection", Doctor.checkLobby, false, true},
	{"pools", "Servers do not start", Doctor.checkPools, false, true},
	{"pool limits", "Servers cost too much", Doctor.checkLimits, false, true},
	{"valves", "Players wait in the login queue", Doctor.checkValves, false, true},
	{"webhooks", "A webhook fails", Doctor.checkWebhooks, false, true},
	{"cells", "A region is served elsewhere", Doctor.checkCells, false, true},
	{"moves", "A region's move stands still", Doctor.checkMoves, false, true},
	{"erasures", "An erasure does not end", Doctor.checkErasures, false, true},
	{"invariants", "An invariant has violations", Doctor.checkViolations, false, false},
	{"partitions", "History falls into the default partition", Doctor.checkPartitions, false, false},
	{"bloat", "Everything got slow within minutes", Doctor.checkBloat, false, false},
	{"replication", "The disk fills", Doctor.checkReplication, false, false},
	{"clock", "Players get 503", Doctor.checkClock, false, false},
}

// Diagnosis is what an examination found.
type Diagnosis struct {
	State  string    `json:"state"`           // the worst of the checks
	First  string    `json:"first,omitempty"` // the check to begin with, and what to do
	Checks []Finding `json:"checks"`          // the worst first
}

// Examine runs the checks. It changes nothing but a row that tests whether the database takes writes, and takes 5 s for
// each check at most.
func (d Doctor) Examine(ctx context.Context) Diagnosis {
	return d.examineAll(ctx, func(checkup) bool { return true })
}

// Watch runs those checks that are cheap enough for every few seconds. Their findings are what alerts fire on.
func (d Doctor) Watch(ctx context.Context) Diagnosis {
	return d.examineAll(ctx, func(c checkup) bool { return c.isVital || c.isWatched })
}

func (d Doctor) examineAll(ctx context.Context, wanted func(checkup) bool) (found Diagnosis) {
	for _, c := range checkups {
		if !wanted(c) {
			continue
		}
		if ctx.Err() != nil {
			// A check that had no time is listed: if it were left out, nothing would seem wrong.
			found.Checks = append(found.Checks, c.labelled(outOfTime))
			continue
		}
		f := c.runCheck(ctx, d)
		found.Checks = append(found.Checks, f)
		// All checks that follow would fail for the same reason.
		if c.isVital && f.State == Fail {
			break
		}
	}
	// Stable: among findings of one state, the first of checkups stays the first to fix.
	slices.SortStableFunc(found.Checks, func(a, b Finding) int { return severityOf(b.State) - severityOf(a.State) })
	// Never empty: the first of checkups is vital, and so always wanted.
	worst := found.Checks[0]
	found.State = worst.State
	if worst.State != OK {
		found.First = worst.Check + ": " + worst.Do
	}
	return found
}

// Problems returns the findings that are not ok, the worst first.
func (d Diagnosis) Problems() []Finding {
	// The worst come first: no finding after one that is ok is a problem.
	first := slices.IndexFunc(d.Checks, func(f Finding) bool { return f.State == OK })
	if first < 0 {
		return d.Checks
	}
	return d.Checks[:first]
}

// FigureOf returns the figure of a check, or nil if it has none.
func (d Diagnosis) FigureOf(check string) *Figure {
	for _, f := range d.Checks {
		if f.Check == check {
			return f.Figure
		}
	}
	return nil
}

// Unreadable reports whether the database gave no answer, so that nothing else is known.
func (d Diagnosis) Unreadable() bool {
	return d.Checks[0].Check == checkups[0].name && d.Checks[0].State == Fail
}

func (c checkup) runCheck(ctx context.Context, d Doctor) Finding {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	f, err := c.runFunc(d, ctx)
	if err != nil {
		f = uncheckedFinding(err)
	}
	return c.labelled(f)
}

// labelled returns the finding with the name of the check, and with the section of the runbook unless nothing is wrong.
func (c checkup) labelled(f Finding) Finding {
	f.Check = c.name
	switch {
	case f.State == OK:
		f.Section = ""
	case f.Section == "":
		f.Section = c.runbookSection
	}
	return f
}

// outOfTime is the finding of a check for which no time was left.
var outOfTime = warningFinding("run director doctor, and look at what takes long: the checks of Postgres come first",
	"not known: the checks before it took all the time there was")
