package infra_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/server/infra"
	"github.com/lattice-director/director/server/rest"
)

// world is what a replica finds around it; the one of a test that needs days or broken clocks.
type world struct {
	version  int64
	database error
	key      error
	offset   time.Duration
	age      time.Duration // of the measured offset
	unread   bool          // it was never measured
	draining bool
	restored bool
	pooler   string
	asked    *atomic.Int64 // how often the database was; nil: nobody counts
}

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) // by the database's clock

func (w world) SchemaVersion(context.Context) (int64, error) {
	if w.asked != nil {
		w.asked.Add(1)
	}
	return w.version, w.database
}
func (w world) PoolerTrouble() string                          { return w.pooler }
func (w world) RestoredFromDump(context.Context) (bool, error) { return w.restored, nil }
func (w world) Now() time.Time                                 { return now }
func (w world) Usable() error                                  { return w.key }
func (w world) JWKS() ([]byte, string, error)                  { return []byte(`{"keys":[]}`), `"e"`, nil }
func (w world) MaxAge() time.Duration                          { return time.Minute }
func (w world) ClockReading() (db.ClockReading, bool) {
	return db.ClockReading{Offset: w.offset, At: now.Add(-w.offset - w.age)}, !w.unread
}

func (w world) mount(t *testing.T) http.Handler {
	t.Helper()
	engine, err := rest.New(rest.Options{})
	require.NoError(t, err)
	infra.Mount(engine, w, infra.Readiness{Database: w, Keys: w, Schema: 3, Timeout: time.Second, Draining: func() bool { return w.draining }})
	return engine
}

func ask(t *testing.T, w world) (status int, body map[string]any) {
	t.Helper()
	engine := w.mount(t)
	recorder := httptest.NewRecorder()
	engine.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/readyz", nil))
	require.NoError(t, json.Unmarshal(recorder.Body.Bytes(), &body))
	return recorder.Code, body
}

// Pins a replica that gets traffic it cannot serve, and one that is taken out for nothing: the clock may be wrong as
// long as it is corrected, and a small error needs no correction.
func TestReadiness(t *testing.T) {
	t.Parallel()
	away := &db.Error{Kind: db.Unavailable, Code: "unavailable"}
	for name, row := range map[string]struct {
		world
		failed []string
	}{
		"all is well":                 {world{version: 3}, nil},
		"a newer schema":              {world{version: 4}, nil},
		"an older schema":             {world{version: 2}, []string{"schema"}},
		"no schema":                   {world{}, []string{"schema"}},
		"the database is away":        {world{database: away}, []string{"database"}},
		"the schema cannot be read":   {world{version: 3, database: errors.New("permission denied for table hunter2")}, []string{"schema"}},
		"restored from a dump":        {world{version: 3, restored: true}, []string{"restored"}},
		"a pooler is in the way":      {world{version: 3, pooler: "set it"}, []string{"pooler"}},
		"no key":                      {world{version: 3, key: errors.New("no signing key")}, []string{"signing_key"}},
		"far off and corrected":       {world{version: 3, offset: time.Hour, age: 10 * time.Second}, nil},
		"far behind and corrected":    {world{version: 3, offset: -time.Hour, age: 10 * time.Second}, nil},
		"far off, corrected long ago": {world{version: 3, offset: 31 * time.Second, age: 2 * time.Minute}, []string{"clock"}},
		"far behind, long ago":        {world{version: 3, offset: -31 * time.Second, age: 2 * time.Minute}, []string{"clock"}},
		"a little off, long ago":      {world{version: 3, offset: 29 * time.Second, age: time.Hour}, nil},
		"never measured":              {world{version: 3, unread: true}, []string{"clock"}},
		"everything at once":          {world{database: away, key: errors.New("none"), unread: true}, []string{"database", "signing_key", "clock"}},
	} {
		status, body := ask(t, row.world)
		if row.failed == nil {
			require.Equal(t, http.StatusOK, status, name)
			require.Len(t, body["checks"], 6)
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

// Pins a replica that is shutting down and asks a database for whether it is.
func TestDrainingComesFirst(t *testing.T) {
	t.Parallel()
	status, body := ask(t, world{version: 3, draining: true, database: errors.New("not asked")})
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, "draining", body["code"])
}

// Pins probes that each ask the database, however many come and whether they wait for the answer, and an answer that is
// shared for longer than it is true.
func TestProbesShareAnAnswerOfTheDatabase(t *testing.T) {
	t.Parallel()
	w := world{version: 3, asked: new(atomic.Int64)}
	engine := w.mount(t)
	gone, leave := context.WithCancel(t.Context())
	leave()
	probe := func(ctx context.Context) {
		engine.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/readyz", nil).WithContext(ctx))
	}
	begun := time.Now()
	var probes sync.WaitGroup
	for range 500 {
		probes.Go(func() { probe(t.Context()) })
		probes.Go(func() { probe(gone) })
	}
	probes.Wait()
	require.LessOrEqual(t, w.asked.Load(), 1+int64(time.Since(begun)/(250*time.Millisecond)))
	before := w.asked.Load()
	require.Eventually(t, func() bool { probe(t.Context()); return w.asked.Load() > before }, 10*time.Second, 10*time.Millisecond)
}
