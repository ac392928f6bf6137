package cycle_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/openmatch/cycle"
	"github.com/lattice-director/director/internal/testkit/await"
	"github.com/lattice-director/director/internal/testkit/background"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/internal/testkit/variant"
	"github.com/lattice-director/director/match"
)

const universe = "global"

func TestMain(m *testing.M) { dbtest.VerifyNoLeaks(m) }

// bundle is a database of its own for a test, with a store on it.
type bundle struct {
	*storetest.DB

	t      *testing.T
	timing db.Timing
}

func setup(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{t: t, timing: db.DefaultTiming()}
	b.DB = storetest.New(t, b.quietly)
	return b
}

func (b *bundle) quietly(c *db.Config) { c.Timing, c.Log = b.timing, slog.New(slog.DiscardHandler) }

func (b *bundle) store(change ...func(*db.Config)) *db.Store {
	b.t.Helper()
	return b.Replica(append([]func(*db.Config){b.quietly}, change...)...)
}

// replica is a running engine with a store of its own, as in another pod.
type replica struct {
	*cycle.Engine

	b     *bundle
	id    uuid.UUID
	store *db.Store
	stop  func() // stops the engine and waits for it
}

func (b *bundle) replica(change ...func(*cycle.Options)) *replica {
	b.t.Helper()
	o := variant.Apply(cycle.Options{
		Store: b.store(), Universe: universe, Replica: uuid.New(), Registration: 50 * time.Millisecond,
		Collection: 20 * time.Second, Backfill: readBackfill,
	}, change...)
	e := must.Get(cycle.New(o))(b.t)
	r := &replica{Engine: e, b: b, id: o.Replica, store: o.Store.(*db.Store)}
	r.stop = background.Run(b.t, e.Run)
	return r
}

func window(d time.Duration) func(*cycle.Options) {
	return func(o *cycle.Options) { o.Registration = d }
}

// readBackfill has texts as backfills; a change appends to the old text.
func readBackfill(sent []byte, old *db.Backfill) (db.NewBackfill, error) {
	if string(sent) == "bad" {
		return db.NewBackfill{}, fmt.Errorf("unreadable")
	}
	text := string(sent)
	if old != nil {
		_, before, _ := strings.Cut(string(old.Body), " ")
		text = before + "+" + text
	}
	return backfill(text), nil
}

func backfill(text string) db.NewBackfill {
	return db.NewBackfill{SearchFields: match.Fields{Tags: []string{text}},
		EncodeBody: func(id string, _ time.Time) []byte { return []byte(id + " " + text) }}
}

func (b *bundle) tickets(n int) (ids []string) {
	b.t.Helper()
	for range n {
		t := must.Get(b.CreateTicket(b.t.Context(), universe,
			db.NewTicket{EncodeBody: func(id string, _ time.Time) []byte { return []byte(id) }}))(b.t)
		ids = append(ids, t.ID)
	}
	return ids
}

// waiting returns the tickets that a query finds.
func (b *bundle) waiting() []string {
	b.t.Helper()
	ids := []string{}
	part := must.Get(b.QueryTickets(universe, match.Pool{}, false).Next(context.WithoutCancel(b.t.Context())))(b.t)
	for _, t := range part {
		ids = append(ids, t.ID)
	}
	slices.Sort(ids)
	return ids
}

func proposal(id string, score float64, tickets ...string) cycle.Proposal {
	return cycle.Proposal{ID: id, Score: &score, Tickets: tickets,
		Match: []byte("match " + id)}
}

// director is a caller whose match function is a Go function.
type director struct {
	run     func(ctx context.Context, propose func(cycle.Proposal) error) error
	deliver func(cycle.Accepted) error

	mu  sync.Mutex
	got []cycle.Accepted
}

func (d *director) Run(ctx context.Context, propose func(cycle.Proposal) error) error {
	return d.run(ctx, propose)
}

func (d *director) Deliver(m cycle.Accepted) error {
	d.mu.Lock()
	d.got = append(d.got, m)
	d.mu.Unlock()
	if d.deliver != nil {
		return d.deliver(m)
	}
	return nil
}

func (d *director) ids() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	ids := []string{}
	for _, m := range d.got {
		ids = append(ids, m.Proposal.ID)
	}
	return ids
}

// proposes makes a director whose match function proposes these matches and ends.
func proposes(all ...cycle.Proposal) *director {
	return &director{run: func(_ context.Context, propose func(cycle.Proposal) error) error {
		for _, p := range all {
			if err := propose(p); err != nil {
				return err
			}
		}
		return nil
	}}
}

// proposesThenWaits makes a director whose match function never ends by itself.
func proposesThenWaits(all ...cycle.Proposal) *director {
	d := proposes(all...)
	propose := d.run
	d.run = func(ctx context.Context, p func(cycle.Proposal) error) error {
		if err := propose(ctx, p); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	}
	return d
}

// fetching is a running call.
type fetching struct {
	*director

	cancel context.CancelFunc
	done   chan error
}

func (r *replica) start(d *director) *fetching {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.b.t.Context()))
	f := &fetching{director: d, cancel: cancel, done: make(chan error, 1)}
	go func() { f.done <- r.Fetch(ctx, d) }()
	r.b.t.Cleanup(cancel)
	return f
}

func (f *fetching) wait(t *testing.T) error {
	t.Helper()
	return await.Value(t, f.done, "the end of the call")
}

func (r *replica) fetch(d *director) error {
	r.b.t.Helper()
	return r.start(d).wait(r.b.t)
}

const text = "error(s) in FetchMatches call. syncErr=[%s], mmfErr=[%s]"

func requireText(t *testing.T, err error, syncErr, mmfErr string) {
	t.Helper()
	var e *cycle.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, fmt.Sprintf(text, syncErr, mmfErr), err.Error())
}
