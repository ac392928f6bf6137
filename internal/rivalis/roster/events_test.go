package roster

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/must"
)

// streamReader is a stream of a test.
type streamReader struct {
	*Stream

	t       require.TestingT
	pending []Event
}

func (f *follower) stream(lastEventID string) *streamReader {
	f.t.Helper()
	s := must.Get(f.events.OpenStream(f.t.Context(), lastEventID))(f.t)
	f.t.Cleanup(s.Close)
	return &streamReader{Stream: s, t: f.t}
}

// next waits for the next event.
func (s *streamReader) next() Event {
	if len(s.pending) == 0 {
		ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
		defer cancel()
		s.pending = must.Get(s.Next(ctx))(s.t)
	}
	e := s.pending[0]
	s.pending = s.pending[1:]
	return e
}

// gets waits for events and compares them; each is written as its type and the id in its data. It skips additional
// Syncs: the tests share a server, and a transaction of another test may delay events for longer than a Sync waits for
// them.
func (s *streamReader) gets(want ...string) (last Event) {
	for _, w := range want {
		last = s.next()
		for w != Sync && last.Type == Sync {
			last = s.next()
		}
		require.Equal(s.t, w, describe(s.t, last))
	}
	return last
}

// syncs waits for a Sync whose data contains a text.
func (s *streamReader) syncs(with string) {
	for {
		if e := s.gets(Sync); strings.Contains(string(e.Data), with) {
			return
		}
	}
}

// quiet checks that there is no further event.
func (s *streamReader) quiet() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*againAfter)
	defer cancel()
	events, err := s.Next(ctx)
	for err == nil {
		for _, e := range events {
			require.Equal(s.t, Sync, e.Type)
		}
		events, err = s.Next(ctx)
	}
	require.ErrorIs(s.t, err, context.DeadlineExceeded)
}

func describe(t require.TestingT, e Event) string {
	var data struct{ ID, StateHash string }
	require.NoError(t, json.Unmarshal(e.Data, &data))
	if e.Type == Sync || e.Type == Resync {
		require.Empty(t, e.ID)
		require.NotEmpty(t, data.StateHash)
		return e.Type
	}
	require.NotEmpty(t, e.ID)
	return e.Type + " " + data.ID
}

// alert makes followers read only after notifications, so that the ticker cannot hide a missing one.
func alert(f *follower) { f.pollEvery, f.events.pollEvery = time.Hour, time.Hour }

func started(t *testing.T) (*bundle, *follower) {
	t.Helper()
	b := setup(t)
	f := b.follow(t)
	f.run(alert)
	return b, f
}

// Rivalis' dashboards depend on this order.
func TestTheOrderOfEvents(t *testing.T) {
	t.Parallel()
	b, f := started(t)
	s := f.stream("")
	a := agentID(1)
	b.writes(func(c *change) { c.joins(a); c.creates(a, "r1") })
	s.gets(InstanceJoined+" "+a, RoomCreated+" r1", Sync)
	b.writes(func(c *change) { c.plays(a, "r1", 3) })
	s.syncs(`"connections":3`)
	b.writes(func(c *change) { c.logs(db.EventAgentStale, a, c.agents[a]) })
	s.gets(InstanceStale + " " + a)
	b.writes(func(c *change) { c.logs(db.EventAgentRecovered, a, c.agents[a]) })
	s.gets(InstanceRecovered + " " + a)
	s.quiet()
	b.writes(func(c *change) { c.creates(a, "r2") })
	s.gets(RoomCreated+" r2", Sync)
	b.writes(func(c *change) { c.destroys(a, "r2") })
	s.gets(RoomDestroyed+" r2", Sync)
	b.writes(func(c *change) { c.leaves(a) })
	s.gets(InstanceLeft+" "+a, RoomDestroyed+" r1")
	s.syncs(`"stateHash":"4f53cda18c2baa0c"`)
	s.quiet()
}

// A doubted agent leaves the fleet for all streams, and joins again when it answers.
func TestDoubt(t *testing.T) {
	t.Parallel()
	b, f := started(t)
	s := f.stream("")
	a, again := agentID(1), agentID(2)
	b.writes(func(c *change) { c.joins(a, "r1") })
	s.gets(InstanceJoined+" "+a, RoomCreated+" r1", Sync)
	b.writes(func(c *change) {
		c.doubts(a)
		c.joins(again, "r1")
	})
	s.gets(InstanceLeft+" "+a, RoomDestroyed+" r1", InstanceJoined+" "+again, RoomCreated+" r1", Sync)
	b.writes(func(c *change) { c.returns(a) })
	s.gets(InstanceJoined+" "+a, Sync)
}

// A foreign transaction that stays open delays events but loses none. Meanwhile a Sync reports the changed state.
func TestALongForeignTransaction(t *testing.T) {
	t.Parallel()
	b, f := started(t)
	s := f.stream("")
	foreign := b.begin()
	foreign.do("CREATE TABLE elsewhere ()")
	_ = foreign.tx()
	begun := time.Now()
	b.writes(func(c *change) { c.joins(agentID(1), "r1") })
	last := s.gets(Sync)
	require.GreaterOrEqual(t, time.Since(begun), syncWithin)
	require.Contains(t, string(last.Data), `"rooms":1`)
	for i := range 20 {
		b.writes(func(c *change) { c.creates(agentID(1), fmt.Sprint("s", i)) })
	}
	require.NoError(t, foreign.Commit(t.Context())) // without a notification
	got := s.until(func(e Event) bool { return describe(t, e) == RoomCreated+" s19" })
	require.Len(t, got, 22)
	s.gets(Sync)
}

// until returns the events, without Syncs, up to the expected one.
func (s *streamReader) until(is func(Event) bool) (got []Event) {
	for {
		e := s.next()
		if e.Type != Sync {
			got = append(got, e)
		}
		if is(e) {
			return got
		}
	}
}

// A stream that is cut at any event resumes on another replica. No event is missing and none is repeated.
func TestResumingElsewhere(t *testing.T) {
	t.Parallel()
	b, first := started(t)
	second := b.follow(t)
	second.run(alert)
	whole := first.stream("")
	n := 0
	var all []Event
	rapid.Check(t, func(rt *rapid.T) {
		b.t = rt
		before := len(all)
		for range rapid.IntRange(1, 5).Draw(rt, "transactions") {
			older, younger := b.begin(), b.begin()
			_ = older.tx()
			b.mutate(rt, younger, &n)
			younger.commit()
			n++
			older.joins(agentID(n), "r"+agentID(n), "s"+agentID(n))
			older.commit()
		}
		n++
		last := agentID(n)
		b.writes(func(c *change) { c.joins(last, "s"+last) })
		all = append(all, whole.until(func(e Event) bool { return describe(rt, e) == RoomCreated+" s"+last })...)
		cut := rapid.IntRange(max(before-50, 0), len(all)-1).Draw(rt, "cut")
		s, err := rapid.SampledFrom([]*follower{first, second}).Draw(rt, "replica").events.OpenStream(t.Context(),
			all[cut].ID)
		require.NoError(rt, err)
		defer s.Close()
		resumed := &streamReader{Stream: s, t: rt}
		for _, want := range all[cut+1:] {
			e := resumed.next()
			for e.Type == Sync {
				e = resumed.next()
			}
			require.Equal(rt, want, e)
		}
		require.Equal(rt, Sync, resumed.next().Type, "a Sync follows the replayed events")
	})
}

// After a restart of Postgres the log continues. If a failover loses the last event, the streams start again.
func TestAnotherServer(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]bool{"restarted": false, "failed over": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			f := b.follow(t)
			store := &restarted{EventStore: f.store}
			f.run(alert, func(f *follower) { f.events.store = store })
			s := f.stream("")
			b.writes(func(c *change) { c.joins(agentID(1)) })
			first := s.gets(InstanceJoined + " " + agentID(1))
			s.gets(Sync)
			if lost {
				b.Exec("DELETE FROM events")
			}
			store.later.Store(int64(time.Hour))
			b.writes(func(c *change) { c.joins(agentID(2)) })
			if lost {
				s.gets(Resync)
				f.stream(first.ID).gets(Resync)
			} else {
				s.gets(InstanceJoined+" "+agentID(2), Sync)
			}
			b.writes(func(c *change) { c.joins(agentID(3)) })
			s.until(func(e Event) bool { return describe(t, e) == InstanceJoined+" "+agentID(3) })
		})
	}
}

// restarted is a store that reports a later start time of the server.
type restarted struct {
	EventStore

	later atomic.Int64
}

func (r *restarted) AgentEventsEnd(ctx context.Context) (db.AgentEventPage, error) {
	page, err := r.EventStore.AgentEventsEnd(ctx)
	page.ServerStartedAt = page.ServerStartedAt.Add(time.Duration(r.later.Load()))
	return page, err
}

func (r *restarted) AgentEventsAfter(ctx context.Context, region string,
	after db.AgentEventPoint) (db.AgentEventPage, error) {
	page, err := r.EventStore.AgentEventsAfter(ctx, region, after)
	page.ServerStartedAt = page.ServerStartedAt.Add(time.Duration(r.later.Load()))
	return page, err
}

// A row that cannot be read, for example one that an operator has written, is skipped.
func TestAnEventThatCannotBeRead(t *testing.T) {
	t.Parallel()
	b, f := started(t)
	s := f.stream("")
	b.writes(func(c *change) {
		c.logs(db.EventAgentJoined, "x", 7)
		c.logs(db.EventRoomCreated, "x", []int{7})
		c.logs(db.EventAgentDrained, "x", struct{}{})
		c.joins(agentID(1))
	})
	s.gets(InstanceJoined+" "+agentID(1), Sync)
}

func TestWhenASyncIsDue(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := syncing{sentHash: 1}
	require.False(t, s.takeDue(1, true, now))
	require.False(t, s.takeDue(2, false, now))
	require.False(t, s.takeDue(2, false, now.Add(syncWithin-1)))
	require.True(t, s.takeDue(3, false, now.Add(syncWithin)), "late, without its events")
	require.False(t, s.takeDue(3, true, now))
	s.isOwed = true
	require.False(t, s.takeDue(3, false, now), "the copy does not show the events yet")
	require.True(t, s.takeDue(3, true, now))
	require.False(t, s.takeDue(4, false, now))
	require.False(t, s.takeDue(3, false, now), "changed back")
	require.False(t, s.takeDue(4, false, now.Add(syncWithin)), "waits anew")
}
