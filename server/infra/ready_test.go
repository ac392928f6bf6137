package infra_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/server/infra"
	"github.com/lattice-director/director/server/rest"
)

// environment is the database, clock and keys of a replica, in states that a real one reaches rarely.
type environment struct {
	version  int64
	database error
	key      error
	offset   time.Duration
	age      time.Duration // of the measured offset
	unread   bool          // the offset was never measured
	draining bool
	restored bool
	pooler   string
	write    error
	queries  *atomic.Int64 // counts queries; nil: not counted
}

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) // by the database's clock

func (e environment) SchemaVersion(context.Context) (int64, error) {
	if e.queries != nil {
		e.queries.Add(1)
	}
	return e.version, e.database
}
func (e environment) tryWrite(context.Context) error                 { return e.write }
func (e environment) PoolerTrouble() string                          { return e.pooler }
func (e environment) RestoredFromDump(context.Context) (bool, error) { return e.restored, nil }
func (e environment) Now() time.Time                                 { return now }
func (e environment) Usable() error                                  { return e.key }
func (e environment) JWKS() ([]byte, string, error)                  { return []byte(`{"keys":[]}`), `"e"`, nil }
func (e environment) WebhookKeySet() ([]byte, string, error) {
	return []byte(`{"keys":[]}`), `"e"`, nil
}
func (e environment) MaxAge() time.Duration { return time.Minute }
func (e environment) LatestClockReading() (db.ClockReading, bool) {
	return db.ClockReading{Offset: e.offset, MeasuredAt: now.Add(-e.offset - e.age)}, !e.unread
}

func (e environment) mount(t *testing.T) http.Handler {
	t.Helper()
	engine := must.Get(rest.New(rest.Options{}))(t)
	infra.Mount(engine, e, infra.Readiness{Database: e, CheckWrite: e.tryWrite, Keys: e, MinSchema: 3,
		CallTimeout: time.Second, IsDraining: func() bool { return e.draining }})
	return engine
}

func query(t *testing.T, e environment) (status int, body map[string]any) {
	t.Helper()
	engine := e.mount(t)
	recorder := httptest.NewRecorder()
	engine.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/readyz", nil))
	require.NoError(t, json.Unmarshal(recorder.Body.Bytes(), &body))
	return recorder.Code, body
}

// A replica that cannot serve is not ready, and one that can is. The clock may be wrong while its offset is known, and
// a small offset needs no correction.
func TestReadiness(t *testing.T) {
	t.Parallel()
	away := &fault.Error{Kind: fault.Unavailable, Code: "unavailable"}
	for name, row := range map[string]struct {
		environment
		failed []string
	}{
		"all is well":          {environment{version: 3}, nil},
		"a newer schema":       {environment{version: 4}, nil},
		"an older schema":      {environment{version: 2}, []string{"schema"}},
		"no schema":            {environment{}, []string{"schema"}},
		"the database is away": {environment{database: away}, []string{"database"}},
		"the schema cannot be read": {environment{version: 3,
			database: errors.New("permission denied for table hunter2")}, []string{"schema"}},
		"restored from a dump": {environment{version: 3, restored: true}, []string{"restored"}},
		"a full disk": {environment{version: 3,
			write: &pgconn.PgError{Code: "53100", Message: "could not extend file"}}, []string{"write"}},
		"a pooler is in the way": {environment{version: 3, pooler: "set it"}, []string{"pooler"}},
		"no key": {environment{version: 3, key: errors.New("no signing key")},
			[]string{"signing_key"}},
		"far off and corrected":    {environment{version: 3, offset: time.Hour, age: 10 * time.Second}, nil},
		"far behind and corrected": {environment{version: 3, offset: -time.Hour, age: 10 * time.Second}, nil},
		"far off, corrected long ago": {environment{version: 3, offset: 31 * time.Second, age: 2 * time.Minute},
			[]string{"clock"}},
		"far behind, long ago": {environment{version: 3, offset: -31 * time.Second, age: 2 * time.Minute},
			[]string{"clock"}},
		"a little off, long ago": {environment{version: 3, offset: 29 * time.Second, age: time.Hour}, nil},
		"never measured":         {environment{version: 3, unread: true}, []string{"clock"}},
		"everything at once": {environment{database: away, key: errors.New("none"), unread: true},
			[]string{"database", "signing_key", "clock"}},
	} {
		status, body := query(t, row.environment)
		if row.failed == nil {
			require.Equal(t, http.StatusOK, status, name)
			require.Len(t, body["checks"], 7)
			continue
		}
		require.Equal(t, http.StatusServiceUnavailable, status, name)
		require.Equal(t, "unavailable", body["code"])
		var failed []string
		for _, e := range body["errors"].([]any) {
			failed = append(failed, e.(map[string]any)["field"].(string))
		}
		require.Equal(t, row.failed, failed, name)
		require.NotContains(t, body["detail"], "hunter2")
	}
}

// Pins an answer that tells anybody the database's host, role, name or tables: Postgres's messages have them.
func TestAnAnswerDoesNotQuotePostgres(t *testing.T) {
	t.Parallel()
	refusal := &pgconn.PgError{Code: "28000",
		Message: `no pg_hba.conf entry for host "10.0.0.7", user "hunter2", database "prod", no encryption`}
	for name, e := range map[string]environment{
		"database": {version: 3, database: &fault.Error{Kind: fault.Unavailable, Code: "unavailable", Err: refusal}},
		"schema":   {version: 3, database: refusal},
		"write":    {version: 3, write: refusal},
	} {
		status, body := query(t, e)
		require.Equal(t, http.StatusServiceUnavailable, status)
		require.Contains(t, body["detail"], "the role is not admitted (SQLSTATE 28000)", name)
		answer := fmt.Sprint(body)
		for _, secret := range []string{"10.0.0.7", "hunter2", "prod"} {
			require.NotContains(t, answer, secret, name)
		}
	}
}

// A replica that is shutting down is not ready and does not query the database.
func TestDrainingComesFirst(t *testing.T) {
	t.Parallel()
	status, body := query(t, environment{version: 3, draining: true, database: errors.New("not asked")})
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, "draining", body["code"])
}

// Concurrent probes share one query, those that disconnect too, and a result is shared for 250 ms only.
func TestProbesShareAQuery(t *testing.T) {
	t.Parallel()
	e := environment{version: 3, queries: new(atomic.Int64)}
	engine := e.mount(t)
	gone, disconnect := context.WithCancel(t.Context())
	disconnect()
	probe := func(ctx context.Context) {
		engine.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/readyz", nil).WithContext(ctx))
	}
	start := time.Now()
	var probes sync.WaitGroup
	for range 500 {
		probes.Go(func() { probe(t.Context()) })
		probes.Go(func() { probe(gone) })
	}
	probes.Wait()
	require.LessOrEqual(t, e.queries.Load(), 1+int64(time.Since(start)/(250*time.Millisecond)))
	before := e.queries.Load()
	require.Eventually(t, func() bool { probe(t.Context()); return e.queries.Load() > before }, 10*time.Second,
		10*time.Millisecond)
}
