package doctor

import (
	"context"
	"fmt"
	"time"

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

// writability is why a database may take no writes, as far as a role that only reads can see it.
type writability struct {
	Standby  bool
	ReadOnly bool   `db:"read_only"`
	Source   string // where default_transaction_read_only comes from
	Role     string
	Allowed  bool // whether the role may write reports
	Syncing  int  // commits that have waited for a synchronous standby for two seconds
}

const selectWritability = `SELECT pg_is_in_recovery() AS standby, current_setting('default_transaction_read_only')::bool AS read_only,
    (SELECT source FROM pg_settings WHERE name = 'default_transaction_read_only') AS source, current_user::text AS role,
    coalesce(has_table_privilege(to_regclass('process_reports'), 'INSERT'), false) AS allowed,
    (SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND state_change < now() - interval '2 seconds') AS syncing`

// checkWrites writes, as a replica does, and asks for the reason only if that fails.
func (d Doctor) checkWrites(ctx context.Context) (Finding, error) {
	w, err := one[writability](ctx, d, selectWritability)
	if err != nil {
		return Finding{}, err
	}
	if !w.Allowed {
		return w.judgeUntried(), nil
	}
	trying, cancel := context.WithTimeout(ctx, checkTimeout/2)
	defer cancel()
	if failed := d.Store.TryWrite(trying); failed != nil {
		if again, err := one[writability](ctx, d, selectWritability); err == nil {
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
		f := failure("", "the database takes no writes: transactions are read-only by default, as set by: %s", w.Source).from(c)
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
