package db_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/match"
)

// cutter is a proxy between a client and Postgres. Once armed, it closes the client's connection at its next COMMIT.
type cutter struct {
	proxy  *dbtest.Proxy
	armed  atomic.Bool
	arrive chan struct{} // closed: passes the COMMIT to Postgres; nil: drops it
	cuts   atomic.Int32
}

func newCutter(t *testing.T, target string, arrives bool) *cutter {
	t.Helper()
	c := &cutter{}
	if arrives {
		c.arrive = make(chan struct{})
	}
	c.proxy = dbtest.NewProxy(t, target, c.pass)
	return c
}

// replica opens a replica that connects through the cutter. In this mode COMMIT is sent as plain text, once the types
// of the statements are known.
func (c *cutter) replica(b *bundle) *db.Store {
	return b.Replica(func(cfg *db.Config) { cfg.URL, cfg.Pooler, cfg.MaxConns = c.proxy.URL, "pgbouncer", 1 })
}

func (c *cutter) pass(ctx context.Context, client, server net.Conn) {
	answered := make(chan struct{})
	go func() { _, _ = io.Copy(client, server); _ = client.Close(); close(answered) }()
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		if bytes.Contains(buf[:n], []byte("\x00commit\x00")) && c.armed.CompareAndSwap(true, false) {
			c.cuts.Add(1)
			_ = client.Close()
			if c.arrive == nil {
				return
			}
			select {
			case <-c.arrive:
				_, _ = server.Write(buf[:n])
				<-answered // the client is gone, so nobody reads it
			case <-ctx.Done():
			}
			return
		}
		if _, err := server.Write(buf[:n]); err != nil {
			return
		}
	}
}

// Pins matches that are delivered although they were rolled back, and matches that are lost although they were
// committed.
func TestAnAcceptanceWhoseCommitIsLost(t *testing.T) {
	t.Parallel()
	for name, arrives := range map[string]bool{"committed": true, "rolled back": false} {
		for kind, tickets := range map[string]int{"tickets": 2, "a backfill alone": 0} {
			t.Run(name+" with "+kind, func(t *testing.T) {
				t.Parallel()
				b := setup(t)
				c := newCutter(t, b.URL, arrives)
				far := c.replica(b)
				ref := b.cycle()
				_, err := far.AcceptMatches(t.Context(), ref,
					[]db.AcceptedMatch{{ID: "first", TicketIDs: b.tickets(1), Backfill: &db.MatchBackfill{}}},
					readBackfill)
				require.NoError(t, err)
				b.Exec("DELETE FROM backfills")
				ids := b.tickets(tickets)
				m := acceptedOf("1", ids...)
				m.Backfill = &db.MatchBackfill{Body: []byte("new")}
				c.armed.Store(true)
				var final []db.FinalMatch
				var accepting errgroup.Group
				accepting.Go(func() (err error) {
					final, err = far.AcceptMatches(t.Context(), ref, []db.AcceptedMatch{m}, readBackfill)
					return err
				})
				if arrives { // late: the replica is looking for the commit already
					b.AwaitBlocked(1)
					close(c.arrive)
				}
				require.NoError(t, accepting.Wait())
				require.Equal(t, int32(1), c.cuts.Load())
				require.Equal(t, match.Kept, final[0].Verdict)
				require.Empty(t, b.waiting(b.Store, match.Pool{}))
				require.Equal(t, []string{final[0].CreatedBackfill.ID}, b.backfillsIn(match.Pool{}),
					"it was decided once")
			})
		}
	}
}

// Pins another caller's change of a backfill that is mistaken for the lost commit.
func TestAnotherChangeIsNotMistakenForALostCommit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	c := newCutter(t, b.URL, false)
	far := c.replica(b)
	ref, ids, there := b.cycle(), b.tickets(2), b.backfill(match.Fields{})
	_, err := far.AcceptMatches(t.Context(), ref,
		[]db.AcceptedMatch{{ID: "first", TicketIDs: b.tickets(1),
			Backfill: &db.MatchBackfill{ID: b.backfill(match.Fields{}).ID, Generation: 1}}}, readBackfill)
	require.NoError(t, err)
	m := acceptedOf("1", ids...)
	m.Backfill = &db.MatchBackfill{ID: there.ID, Generation: there.Generation, Body: []byte("more")}
	c.armed.Store(true)
	var changing errgroup.Group
	var once sync.Once
	final, err := far.AcceptMatches(t.Context(), ref, []db.AcceptedMatch{m},
		func(sent []byte, of *db.Backfill) (db.NewBackfill, error) {
			once.Do(func() { // it waits for the row, and locks it next
				changing.Go(func() error {
					_, err := b.UpdateBackfill(t.Context(), universe, there.ID,
						func(db.Backfill) (db.NewBackfill, error) {
							return backfillOf(match.Fields{}, "the game's own"), nil
						})
					return err
				})
				b.AwaitBlocked(1)
			})
			return readBackfill(sent, of)
		})
	require.NoError(t, err)
	require.NoError(t, changing.Wait())
	require.Equal(t, int32(1), c.cuts.Load())
	require.Equal(t, match.BackfillChanged, final[0].Verdict)
	slices.Sort(ids)
	require.Equal(t, ids, b.waiting(b.Store, match.Pool{}))
}
