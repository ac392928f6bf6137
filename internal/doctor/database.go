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
		return good("answers in %s", time.Since(begun).Round(time.Millisecond)), nil
	}
	c, known := dbcause.FromError(err)
	switch {
	case dbcause.IsPostgres(err):
		return failure("", "refuses the connection").from(c), nil
	case known:
		return failure("", "does not answer").from(c), nil
	}
	return failure(c.Do, "does not answer: %s", oneLine(err)), nil
}

// writability is why a database may take no writes.
type writability query.DoctorWritabilityRow

func (d Doctor) readWritability(ctx context.Context) (writability, error) {
	w, err := d.queries().DoctorWritability(ctx)
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
	trying, cancel := context.WithTimeout(ctx, checkTimeout/2)
	defer cancel()
	if failed := d.Store.TryWrite(trying); failed != nil {
		if again, err := d.readWritability(ctx); err == nil {
			w = again
		}
		return w.judge(failed), nil
	}
	return good("the database takes writes"), nil
}

const startStandby = "start the synchronous standby, or take it out of synchronous_standby_names and reload"

func (w writability) judge(failed error) Finding {
	c, _ := dbcause.FromError(failed)
	switch {
	case w.Standby:
		return failure("", "the database takes no writes: this server is a standby").from(c)
	case w.ReadOnly:
		f := failure("", "the database takes no writes: transactions are read-only by default, as set by: %s",
			w.Source).from(c)
		f.Do = "find who set it, and why; then ALTER DATABASE (or ROLE, or SYSTEM) … RESET default_transaction_read_only"
		return f
	case w.Syncing > 0:
		f := failure(startStandby, "the database takes no writes: %d commits wait for a synchronous standby", w.Syncing)
		f.Cause = c.Words
		return f
	case c.Words == "":
		return failure(c.Do, "the database takes no writes: %s", oneLine(failed))
	}
	return failure("", "the database takes no writes").from(c)
}

// judgeUntried judges for a role that may not write.
func (w writability) judgeUntried() Finding {
	untried := fmt.Sprintf("not tried: role %s may not write", w.Role)
	switch {
	case w.Standby:
		return warning("run doctor on the primary", "%s, and this server is a standby", untried)
	case w.Syncing > 0:
		return failure(startStandby, "%d commits wait for a synchronous standby", w.Syncing)
	}
	return good("%s; run doctor as the director's role to know", untried)
}
