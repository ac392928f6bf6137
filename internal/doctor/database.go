package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/dbcause"
)

// Whether the database answers, and whether it takes writes.

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

// checkWrites writes, as a replica does, and asks for the reason only if that fails.
func (d Doctor) checkWrites(ctx context.Context) (Finding, error) {
	w, err := d.readWritability(ctx)
	if err != nil {
		return Finding{}, err
	}
	if !w.Allowed {
		return w.judgeUntried(), nil
	}
	// Half of the time: a commit that waits for a standby leaves the other half for the question why.
	trying, cancel := context.WithTimeout(ctx, checkTimeout/2)
	defer cancel()
	if failed := d.Store.TryWrite(trying); failed != nil {
		// Read again: a commit that waits for a standby counts only once it has waited for two seconds.
		if again, err := d.readWritability(ctx); err == nil {
			w = again
		}
		return w.judgeWrites(failed), nil
	}
	return goodFinding("the database takes writes"), nil
}

const startStandby = "start the synchronous standby, or take it out of synchronous_standby_names and reload"

func (w writability) judgeWrites(failed error) Finding {
	c, _ := dbcause.FromError(failed)
	switch {
	// First: a standby refuses writes whatever its settings say.
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
		return failureFinding(c.Do, "the database takes no writes: %s", oneLine(failed))
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
