package watch

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/await"
	"github.com/lattice-director/director/internal/testkit/background"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/internal/testkit/variant"
)

func TestMain(m *testing.M) { dbtest.VerifyNoLeaks(m) }

const region = "eu"

// bundle is two replicas on one database: here watches tickets, there assigns them.
type bundle struct {
	t          *testing.T
	here       *db.Store
	there      *storetest.DB
	hub        *Hub
	statements *counter // that here has sent
}

// counter counts statements and pipelines. Its traps spring before or after a statement, or when a method of the store
// acquires a connection.
type counter struct {
	n                         atomic.Int64
	before, after, connecting storetest.Trap
}

// setup runs a hub that never reads the feed without a notification, so that each assignment that arrives was pushed.
func setup(t *testing.T, change ...func(*db.Config)) *bundle {
	t.Helper()
	b := setupOn(t, dbtest.New(t), change...)
	b.hub.pollEvery = time.Hour
	background.Run(b.t, b.hub.Run)
	return b
}

func setupOn(t *testing.T, url string, change ...func(*db.Config)) *bundle {
	t.Helper()
	s := &counter{}
	b := &bundle{t: t, statements: s, there: storetest.OnDatabase(t, url, change...)}
	tracer := &storetest.Tracer{
		BeforeStatement: func(sql string) { s.n.Add(1); s.before.AtStatement(sql) },
		AfterStatement:  s.after.AtStatement,
		BeforeAcquire:   func() { s.connecting.AtCall("Store") },
	}
	b.here = b.there.Replica(append(change, func(c *db.Config) { c.Tracer = tracer })...)
	b.hub = New(b.here, region, 5000, nil, nil)
	return b
}

func (b *bundle) create(change ...func(*db.NewTicket)) (id string) {
	b.t.Helper()
	n := variant.Apply(db.NewTicket{EncodeBody: func(id string, _ time.Time) []byte { return []byte(id) }}, change...)
	t := must.Get(b.there.CreateTicket(b.t.Context(), region, n))(b.t)
	return t.ID
}

func (b *bundle) assign(assignment string, ids ...string) {
	b.t.Helper()
	missing := must.Get(b.there.AssignTickets(b.t.Context(), region,
		db.Assignments{Groups: []db.Assignment{{TicketIDs: ids, EncodedAssignment: []byte(assignment)}}}))(b.t)
	require.Empty(b.t, missing)
}

func (b *bundle) delete(id string) {
	b.t.Helper()
	require.NoError(b.t, b.there.DeleteTicket(b.t.Context(), region, id))
}

// watching is a call of Watch in the background.
type watching struct {
	t     *testing.T
	sent  chan string
	ended chan error
	leave context.CancelFunc
}

func (b *bundle) watch(id string) *watching {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.t.Context())
	w := &watching{t: b.t, sent: make(chan string, 100), ended: make(chan error, 1), leave: cancel}
	b.t.Cleanup(cancel)
	go func() {
		w.ended <- b.hub.Watch(ctx, id, func(a []byte) error { w.sent <- string(a); return nil })
	}()
	return w
}

// idle waits until so many calls watch and no statement was sent for 300 ms.
func (b *bundle) idle(watchers int) {
	b.t.Helper()
	var last int64
	since := time.Now()
	require.Eventually(b.t, func() bool {
		if n := b.statements.n.Load(); n != last || b.hub.Watching() != watchers {
			last, since = n, time.Now()
		}
		return time.Since(since) > 300*time.Millisecond
	}, testTimeout, 5*time.Millisecond)
}

const testTimeout = 30 * time.Second

func (w *watching) gets(want string) {
	w.t.Helper()
	select {
	case got := <-w.sent:
		require.Equal(w.t, want, got)
	case err := <-w.ended:
		require.Fail(w.t, "ended", "%v instead of %q", err, want)
	case <-time.After(testTimeout):
		require.Fail(w.t, "got nothing", "instead of %q", want)
	}
}

func (w *watching) ends() error {
	w.t.Helper()
	err := await.Value(w.t, w.ended, "the end")
	require.Empty(w.t, w.sent)
	return err
}

func (w *watching) endsWithout(id string) {
	w.t.Helper()
	var e *fault.Error
	require.ErrorAs(w.t, w.ends(), &e)
	require.Equal(w.t, fault.NotFound, e.Kind)
	require.Equal(w.t, "Ticket id: "+id+" not found", e.Detail)
}
