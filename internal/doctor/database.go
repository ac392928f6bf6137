package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/dbcause"
)

func (d Doctor) checkDatabase(ctx context.Context) (Finding, error) {
	begun := time.Now()
	err := d.Store.Ping(ctx)
	if err == nil {
		return goodFinding("answers in %s", time.Since(begun).Round(time.Millisecond)), nil
	}
	c, known := dbcause.FromError(err)
	switch {
	// Postgres itself answered: the network works.
	case dbcause.IsPostgres(err):
		return failureFinding("", "refuses the connection").fromCause(c), nil
	case known:
		return failureFinding("", "does not answer").fromCause(c), nil
	}
	return failureFinding(c.Do, "does not answer: %s", oneLine(err)), nil
}

// writability is why a database may take no writes.
type writability query.DoctorWritabilityRow

func (d Doctor) readWritability(ctx context.Context) (writability, error) {
	w, err := d.newQueries().DoctorWritability(ctx)
	return writability(w), err
}

// checkWrites tries a write, as a replica does, unless the role may not write.
func (d Doctor) checkWrites(ctx context.Context) (Finding, error) {
	w, err := d.readWritability(ctx)
	if err != nil {
		return Finding{}, err
	}
	if !w.Allowed {
		return w.judgeUntried(), nil
	}
	// Half of the time: if the commit waits for a standby, the other half is left to read the reason.
	writeCtx, cancel := context.WithTimeout(ctx, checkTimeout/2)
	defer cancel()
	if failure := d.Store.TryWrite(writeCtx); failure != nil {
		// Read again: a commit that waits for a standby counts only once it has waited for two seconds.
		if again, err := d.readWritability(ctx); err == nil {
			w = again
		}
		return w.judgeFailure(failure), nil
	}
	return goodFinding("the database takes writes"), nil
}

const startStandby = "start the synchronous standby, or take it out of synchronous_standby_names and reload"

// judgeFailure returns the reason of a write that failed.
func (w writability) judgeFailure(failure error) Finding {
	c, _ := dbcause.FromError(failure)
	switch {
	// Judged first: a standby refuses writes whatever its settings say.
	case w.Standby:
		return failureFinding("", "the database takes no writes: this server is a standby").fromCause(c)
	case w.ReadOnly:
		f := failureFinding("", "the database takes no writes: transactions are read-only by default, as set by: %s",
			w.Source).fromCause(c)
		f.Do = "find who set it, and why; then ALTER DATABASE (or ROLE, or SYSTEM) … RESET " +
			"default_transaction_read_only"
		return f
	case w.Syncing > 0:
		f := failureFinding(startStandby, "the database takes no writes: %d commits wait for a synchronous standby",
			w.Syncing)
		f.Cause = c.Words
		return f
	case c.Words == "":
		return failureFinding(c.Do, "the database takes no writes: %s", oneLine(failure))
	}
	return failureFinding("", "the database takes no writes").fromCause(c)
}

// judgeUntried judges for a role that may not write.
func (w writability) judgeUntried() Finding {
	untried := fmt.Sprintf("not tried: role %s may not write", w.Role)
	switch {
	case w.Standby:
		return warningFinding("run doctor on the primary", "%s, and this server is a standby", untried)
	case w.Syncing > 0:
		return failureFinding(startStandby, "%d commits wait for a synchronous standby", w.Syncing)
	}
	return goodFinding("%s; run doctor as the director's role to know", untried)
}
