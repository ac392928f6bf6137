package infra

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/dbcause"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/server/rest"
)

const (
	// maxOffset is how wrong this machine's clock may be without a recent correction: the skew that access tokens
	// allow.
	maxOffset = 30 * time.Second
	// freshReading is the age up to which a measured offset still corrects the clock.
	freshReading = time.Minute
)

// Database is the part of db.Store that readiness needs.
type Database interface {
	SchemaVersion(ctx context.Context) (int64, error)
	RestoredFromDump(ctx context.Context) (bool, error)
	PoolerTrouble() string
	LatestClockReading() (r db.ClockReading, ok bool)
	Now() time.Time
}

// Readiness decides whether this replica should receive traffic.
type Readiness struct {
	Database    Database
	CheckWrite  func(ctx context.Context) error // writes to the database, and to its disk
	Keys        Keys
	MinSchema   int64         // the oldest schema version that this build runs on
	CallTimeout time.Duration // for the database's answer
	IsWarm      func() bool   // whether the first connections are prepared; nil: they are
	IsDraining  func() bool   // whether this replica is shutting down
}

// check is one condition of readiness and its result.
type check struct {
	Name      string `json:"name"`
	Detail    string `json:"detail"`
	hasFailed bool
}

type readyAnswer struct {
	Status string  `json:"status"`
	Checks []check `json:"checks"`
}

var errDraining = &rest.Problem{
	Status: http.StatusServiceUnavailable, Code: "draining", Title: "Draining", Detail: "this replica is shutting down",
	RetryAfter: time.Second,
}

// shareFor is how long probes share one result of the database. Probes need no token and have no rate limit, so each
// must not cost a query.
const shareFor = 250 * time.Millisecond

// A write costs more than a read, so that probes share its result for longer.
const (
	shareWriteFor = 3 * time.Second
	retryWrite    = time.Second // after one that failed
)

// probe answers /readyz. It queries the database once at a time, and a query is not canceled when the callers that wait
// for it disconnect. Safe for concurrent use.
type probe struct {
	readiness Readiness

	mu           sync.Mutex
	latestChecks []check // the last result of the database
	checkedAt    time.Time
	writeCheck   check // the last result of a write
	writeAt      time.Time
}

func (p *probe) answerReady(ctx context.Context, _ rest.In[rest.None]) (readyAnswer, error) {
	checks, err := p.checkAll(ctx)
	if err != nil {
		return readyAnswer{}, err
	}
	return readyAnswer{"ready", checks}, nil
}

func (p *probe) checkReady(ctx context.Context) error {
	_, err := p.checkAll(ctx)
	return err
}

func (p *probe) checkAll(ctx context.Context) ([]check, error) {
	// A replica that stops is not ready whatever the checks say; they would query the database for nothing.
	if p.readiness.IsDraining() {
		return nil, errDraining
	}
	checks := slices.Concat(p.sharedChecks(ctx),
		[]check{p.readiness.checkPooler(), p.readiness.checkSigningKey(), p.readiness.checkClock()})
	if p.readiness.IsWarm != nil && !p.readiness.IsWarm() {
		checks = append(checks, check{"warm_up", "connections to the database are being opened", true})
	}
	return checks, failureProblem(checks)
}

// sharedChecks returns the last result of the database, or a new one if that is too old.
func (p *probe) sharedChecks(ctx context.Context) []check {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.latestChecks == nil || time.Since(p.checkedAt) >= shareFor {
		// Other probes wait for the result, also when this caller has gone.
		p.latestChecks = p.examineAll(context.WithoutCancel(ctx))
		p.checkedAt = time.Now()
	}
	return p.latestChecks
}

// examineAll checks the database within [Readiness.CallTimeout]: what a read shows, and then whether it takes writes.
func (p *probe) examineAll(ctx context.Context) []check {
	ctx, cancel := context.WithTimeout(ctx, p.readiness.CallTimeout)
	defer cancel()
	checks := p.readiness.checkDatabase(ctx)
	// After a failed check no write is tried: it would fail for the same reason, or hang.
	if slices.ContainsFunc(checks, func(c check) bool { return c.hasFailed }) {
		return checks
	}
	pause := shareWriteFor
	if p.writeCheck.hasFailed {
		pause = retryWrite
	}
	if p.writeAt.IsZero() || time.Since(p.writeAt) >= pause {
		p.writeCheck = p.readiness.checkWritable(ctx)
		p.writeAt = time.Now()
	}
	return append(checks, p.writeCheck)
}

// failureProblem returns a problem that names every failed check, nil if none failed.
func failureProblem(checks []check) error {
	p := &rest.Problem{Status: http.StatusServiceUnavailable, Code: "unavailable", Title: "Unavailable",
		RetryAfter: time.Second}
	var reasons []string
	for _, c := range checks {
		if c.hasFailed {
			reasons = append(reasons, c.Detail)
			p.Errors = append(p.Errors, rest.FieldError{Field: c.Name, Detail: c.Detail})
		}
	}
	if reasons == nil {
		return nil
	}
	p.Detail = strings.Join(reasons, "; ")
	return p
}

// checkDatabase checks that the database answers, that the schema is new enough, and that no dump was restored into it.
func (r Readiness) checkDatabase(ctx context.Context) []check {
	version, err := r.Database.SchemaVersion(ctx)
	reachable := check{"database", "the database answers", false}
	schema := check{"schema", fmt.Sprintf("the schema is at version %d, at least %d is needed", version, r.MinSchema),
		version < r.MinSchema}
	switch {
	case fault.Is(err, fault.Unavailable):
		reachable = check{"database", "the database cannot be reached" + failureWords(err), true}
		schema = check{"schema", "the version of the schema is unknown", false}
	case err != nil:
		schema = check{"schema", "the version of the schema cannot be read" + failureWords(err), true}
	}
	checks := []check{reachable, schema}
	if reachable.hasFailed || schema.hasFailed {
		return checks
	}
	return append(checks, r.checkRestored(ctx))
}

// checkRestored fails for a database that was restored from a dump, in which event feeds hide rows until 'director
// migrate up' has run. It comes last, because the query needs the schema that was checked before.
func (r Readiness) checkRestored(ctx context.Context) check {
	switch restored, err := r.Database.RestoredFromDump(ctx); {
	case err != nil:
		return check{"restored", "whether the database was restored from a dump cannot be read" + failureWords(err),
			true}
	case restored:
		return check{"restored", "the database was restored from a dump: run 'director migrate up'", true}
	}
	return check{"restored", "the database was not restored from a dump, or was migrated since", false}
}

// checkWritable fails while the database answers and takes no writes: it is a standby, or read-only, its disk is full,
// or a commit waits for a standby that is gone.
func (r Readiness) checkWritable(ctx context.Context) check {
	if err := r.CheckWrite(ctx); err != nil {
		return check{"write", "the database does not take writes" + failureWords(err), true}
	}
	return check{"write", "the database takes writes", false}
}

// failureWords say why the database failed. Anybody may call /readyz, so that they hold no address, no secret, and no
// name of a role, database or table. Postgres's own words are in the log, where the loops of this replica report the
// same failure, and in doctor.
func failureWords(err error) string {
	if c, _ := dbcause.FromError(err); c.PublicWords != "" {
		return ": " + c.PublicWords
	}
	return ""
}

// checkPooler fails while a connection pooler breaks prepared statements, which makes some calls fail at random.
func (r Readiness) checkPooler() check {
	if hint := r.Database.PoolerTrouble(); hint != "" {
		return check{"pooler", hint, true}
	}
	return check{"pooler", "no connection pooler breaks prepared statements", false}
}

// checkSigningKey fails while no key can sign.
func (r Readiness) checkSigningKey() check {
	if err := r.Keys.Usable(); err != nil {
		return check{"signing_key", err.Error(), true}
	}
	return check{"signing_key", "a signing key can be used", false}
}

// checkClock fails when this machine's clock is wrong and was not corrected lately: access tokens would be verified at
// a wrong time.
func (r Readiness) checkClock() check {
	reading, ok := r.Database.LatestClockReading()
	if !ok {
		return check{"clock", "the clock has not been compared with the database's yet", true}
	}
	age := r.Database.Now().Sub(reading.MeasuredAt.Add(reading.Offset))
	detail := fmt.Sprintf("the clock is %s off and corrected, compared %s ago", reading.Offset.Round(time.Millisecond),
		age.Round(time.Second))
	return check{"clock", detail, reading.Offset.Abs() > maxOffset && age > freshReading}
}
