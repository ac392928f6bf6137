package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/timetext"
	"github.com/lattice-director/director/migrations"
)

// The checks of Postgres itself. The limits are those of docs/watch.md, "Watch".

const oldestPostgres = 15

func (d Doctor) checkVersion(ctx context.Context) (Finding, error) {
	v, err := d.newQueries().DoctorVersion(ctx)
	if err != nil || v.Major >= oldestPostgres {
		return goodFinding("version %s", v.Name), err
	}
	return failureFinding("upgrade Postgres", "version %s, and %d or newer is needed", v.Name, oldestPostgres), nil
}

func (d Doctor) checkSchema(ctx context.Context) (Finding, error) {
	version, err := d.Store.SchemaVersion(ctx)
	if err != nil {
		return Finding{}, err
	}
	latest := migrations.Latest()
	switch {
	case version == 0:
		return failureFinding("run 'director migrate up', or correct the search_path of the role or of DATABASE_URL",
			"the director's tables are not there; this build needs version %d", latest), nil
	case version < latest:
		return failureFinding("director migrate up", "at version %d, and this build needs %d", version, latest), nil
	// During an upgrade, the release before runs on the schema of the next.
	case version > latest:
		return warningFinding("use the director of the newer release",
			"at version %d, newer than this build's %d: supported for one release", version, latest), nil
	}
	return goodFinding("at version %d, as this build needs", version), nil
}

// checkPooler detects a pooler, and tests whether it loses prepared statements.
func (d Doctor) checkPooler(ctx context.Context) (Finding, error) {
	hasPooler, err := d.Store.DetectPooler(ctx)
	if err != nil {
		return Finding{}, err
	}
	switch {
	// The setting turns prepared statements off, so that Postgres plans each statement anew.
	case !hasPooler && d.Pooler == "pgbouncer":
		return warningFinding("unset DIRECTOR_POOLER: it makes statements slower",
			"none, but DIRECTOR_POOLER is pgbouncer"), nil
	case !hasPooler:
		return goodFinding("none: a direct connection to Postgres"), nil
	}
	// With DIRECTOR_POOLER=pgbouncer no statement is prepared, so that no pooler can lose one.
	if d.Pooler != "pgbouncer" {
		lost, err := d.Store.TestPrepared(ctx)
		if err != nil {
			return Finding{}, err
		}
		if lost != nil {
			return failureFinding("set DIRECTOR_POOLER=pgbouncer on every replica and worker, or "+
				"max_prepared_statements in PgBouncer 1.21 or newer",
				"a pooler that loses prepared statements: %s", oneLine(lost)), nil
		}
	}
	// A pooler may give each transaction another connection: goose's advisory lock, which a session holds, and LISTEN
	// would be lost.
	if !d.Direct {
		return warningFinding("set DATABASE_URL_DIRECT to Postgres itself, for migrations and for replicas that "+
			"serve Open Match",
			"a pooler, and no direct connection"), nil
	}
	return goodFinding("a working one, which DATABASE_URL_DIRECT bypasses"), nil
}

// checkRestored checks for a dump of another server, whose transaction ids can be in this server's future.
func (d Doctor) checkRestored(ctx context.Context) (Finding, error) {
	restored, err := d.Store.RestoredFromDump(ctx)
	if err != nil || !restored {
		return goodFinding("none, or one that was migrated since"), err
	}
	return failureFinding("director migrate up",
		"rows have transaction ids of another server: the feeds of events and of settled tickets are wrong"), nil
}

func (d Doctor) checkConnections(ctx context.Context) (Finding, error) {
	v, err := d.newQueries().DoctorConnections(ctx)
	if err != nil {
		return Finding{}, err
	}
	return judgeConnections(int(v.Used), int(v.Most)), nil
}

// judgeConnections leaves room to act: at the limit Postgres refuses doctor as well.
func judgeConnections(used, most int) Finding {
	const do = "raise max_connections, or lower DIRECTOR_MAX_CONNS; SELECT application_name, count(*) FROM " +
		"pg_stat_activity GROUP BY 1 shows their programs"
	says := fmt.Sprintf("%d of %d in use", used, most)
	switch {
	case used*100 >= most*95:
		return failureFinding(do, "%s", says)
	case used*100 >= most*80:
		return warningFinding(do, "%s", says)
	}
	return goodFinding("%s", says)
}

func (d Doctor) checkLocks(ctx context.Context) (Finding, error) {
	v, err := d.newQueries().DoctorLocks(ctx)
	if err != nil || v.Longest < 2 {
		return goodFinding("no statement has waited for a lock for 2s"), err
	}
	return failureFinding("SELECT pg_terminate_backend(pid) for the blocking one, unless it is a batch of the director",
		"%d wait for locks, the longest for %s, blocked by %s",
		v.Waiting, formatSeconds(v.Longest), v.Blocker), nil
}

func (d Doctor) checkSnapshots(ctx context.Context) (Finding, error) {
	held, err := opsview.Snapshots.Read(ctx, d.Store.Pool(), opsview.Any{},
		opsview.Page{Order: opsview.OldestSnapshotFirst})
	if err != nil {
		return Finding{}, err
	}
	return judgeSnapshots(held), nil
}

// judgeSnapshots measures a replication slot, which has no age, in transactions: a million takes minutes on a busy
// server.
func judgeSnapshots(held []opsview.Snapshot) Finding {
	for _, h := range held {
		says := fmt.Sprintf("%s prevents vacuum: %v, for %s and %d transactions", h.Kind, h.Oldest,
			briefDuration(h.Age),
			h.Transactions)
		switch {
		case h.Kind == "replication slot" && h.Transactions > 1_000_000:
			return failureFinding("restart its reader, or SELECT pg_drop_replication_slot(name)", "%s", says)
		case h.Kind == "prepared transaction" && h.Age > time.Minute:
			return failureFinding("COMMIT PREPARED or ROLLBACK PREPARED it", "%s", says)
		case h.Age > time.Minute:
			return failureFinding("SELECT pg_terminate_backend(pid)", "%s", says)
		}
	}
	return goodFinding("none older than a minute")
}

// checkWriters checks for an old writing transaction. In any database of the server it delays the event feed and the
// notifications about tickets.
func (d Doctor) checkWriters(ctx context.Context) (Finding, error) {
	v, err := d.newQueries().DoctorWriters(ctx)
	if err != nil {
		return Finding{}, err
	}
	return judgeWriters(v.Oldest, v.Owner, v.Sees), nil
}

func judgeWriters(oldest float64, owner string, seesOthers bool) Finding {
	says := fmt.Sprintf("a transaction has been writing for %s: %s", formatSeconds(oldest), owner)
	switch {
	case oldest > 60:
		return failureFinding("SELECT pg_terminate_backend(pid)", "%s", says)
	case oldest > 10:
		return warningFinding("wait, and if it does not end: SELECT pg_terminate_backend(pid)", "%s", says)
	// Judged last: a role that sees nothing but its own transactions may still have found an old one among them.
	case !seesOthers:
		return warningFinding("GRANT pg_read_all_stats to this role and to the owner of schema ops",
			"other roles' transactions cannot be seen")
	}
	return goodFinding("none for longer than 10s")
}

func (d Doctor) checkBloat(ctx context.Context) (Finding, error) {
	v, err := d.newQueries().DoctorBloat(ctx)
	if err != nil || len(v) == 0 {
		return goodFinding("no table is mostly dead rows"), err
	}
	return warningFinding("VACUUM "+v[0].Name+"; if that does not help, look for an old snapshot",
		"%s has %d dead rows and %d live ones",
		v[0].Name, v[0].Dead, v[0].Live), nil
}

// slotLine is a replication slot and how much WAL it keeps.
type slotLine query.DoctorSlotsRow

func (d Doctor) checkReplication(ctx context.Context) (Finding, error) {
	slots, err := d.newQueries().DoctorSlots(ctx)
	if err != nil {
		return Finding{}, err
	}
	return judgeSlots(convertRows[slotLine](slots, func(r query.DoctorSlotsRow) slotLine { return slotLine(r) })), nil
}

func judgeSlots(slots []slotLine) Finding {
	const gib = 1 << 30
	for _, s := range slots {
		says := fmt.Sprintf("slot %s (active: %t) keeps %.1f GiB of WAL", s.Name, s.Active, float64(s.Bytes)/gib)
		switch {
		// Only a warning: a lost slot keeps no WAL, so that the disk does not fill.
		case s.Status == "lost":
			return warningFinding("drop the slot and rebuild its standby",
				"slot %s has lost WAL that its standby needs",
				s.Name)
		case s.Bytes > 10*gib:
			return failureFinding("restart its reader, or SELECT pg_drop_replication_slot(name): the disk fills up",
				"%s",
				says)
		// A slot with a reader may be behind for a moment; one without a reader does not catch up.
		case s.Bytes > gib && !s.Active:
			return warningFinding("restart its reader, or SELECT pg_drop_replication_slot(name)", "%s", says)
		}
	}
	return goodFinding("%d slots, none retains much WAL", len(slots))
}

// checkClock compares only this machine's clock. Replicas report theirs as director_clock_offset_seconds.
func (d Doctor) checkClock(ctx context.Context) (Finding, error) {
	if err := d.Store.ReadClock(ctx); err != nil {
		return Finding{}, err
	}
	r, _ := d.Store.LatestClockReading()
	return judgeClock(r.Offset), nil
}

func judgeClock(offset time.Duration) Finding {
	const do = "check NTP, on this machine and on the database's host"
	says := fmt.Sprintf("this machine is %s off the database's clock",
		timetext.Brief(offset.Abs().Round(time.Millisecond)))
	switch {
	case offset.Abs() > 30*time.Second:
		return failureFinding(do, "%s", says)
	case offset.Abs() > 5*time.Second:
		return warningFinding(do, "%s", says)
	}
	return goodFinding("%s", says)
}
