package roster

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/db"
)

// shows compares a view with the rows that the test has written.
func (b *bundle) shows(v *View) {
	list, _ := v.AppendInstances(nil, Page{})
	var shown []db.InstanceInfo
	require.NoError(b.t, json.Unmarshal(list, &shown))
	for i := range shown {
		shown[i].LastSyncAt = 0
	}
	want := make([]db.InstanceInfo, 0, len(b.agents))
	for _, a := range b.agents {
		want = append(want, *a)
	}
	require.ElementsMatch(b.t, want, shown)
}

func TestTheCopyFollows(t *testing.T) {
	t.Parallel()
	b := setup(t)
	f := b.follow(t)
	b.shows(f.reads())
	b.writes(func(c *change) { c.joins(agentID(2), "r2", "r1") })
	b.writes(func(c *change) { c.joins(agentID(1)) })
	v := f.reads()
	b.shows(v)
	require.Equal(t, agentID(2), v.Instances()[0].ID, "the order is that of joining")
	require.JSONEq(t, `{"instances":2,"rooms":2,"connections":0,"roomTypes":["match"],"stateHash":"`+v.Stats().StateHash()+`"}`, string(v.Stats().AppendJSON(nil)))
	b.writes(func(c *change) {
		c.plays(agentID(2), "r1", 7)
		c.creates(agentID(1), "r3")
	})
	b.shows(f.reads())
	room, ok := f.AppendRoom(nil, "r1")
	require.True(t, ok)
	require.Contains(t, string(room), `"connections":7,`)
	b.writes(func(c *change) { c.leaves(agentID(2)) })
	b.shows(f.reads())
	_, ok = f.AppendRoom(nil, "r1")
	require.False(t, ok)
	i, ok := f.Instance(agentID(1))
	require.True(t, ok)
	require.Contains(t, string(f.View().AppendInstance(nil, i)), `"rooms":[{"id":"r3"`)
}

// Rooms that are only reserved are not listed, and a drain shows at once.
func TestWhatListsLeaveOut(t *testing.T) {
	t.Parallel()
	b := setup(t)
	f := b.follow(t)
	b.writes(func(c *change) { c.joins(agentID(1), "r1") })
	b.Exec(`INSERT INTO rooms (region, id, agent_id, base, type, state, command) VALUES ('eu', 'r2', $1, 'r2', 'match', 'reserved', gen_random_uuid())`, agentID(1))
	b.writes(func(c *change) { c.touches(agentID(1)) })
	b.shows(f.reads())
	b.Exec("UPDATE agent_states SET override = 'draining', tx = pg_current_xact_id()")
	require.Equal(t, db.AgentDraining, f.reads().Instances()[0].Status)
	b.Exec("UPDATE agent_states SET kept = true, override = 'active', tx = pg_current_xact_id()")
	require.Equal(t, db.AgentDraining, f.reads().Instances()[0].Status)
}

// A doubted agent is not listed until it answers. An agent is not listed once its replica's lease has expired, even
// before a worker ends that replica.
func TestWhoIsListed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	f := b.follow(t)
	b.writes(func(c *change) { c.joins(agentID(1), "r1") })
	f.reads()
	b.writes(func(c *change) { c.doubts(agentID(1)) })
	require.Empty(t, f.reads().Instances())
	b.writes(func(c *change) { c.returns(agentID(1)) })
	b.shows(f.reads())
	hash := f.View().Stats().Hash
	b.Exec("UPDATE replicas SET seen_at = now(), steady_since = now() - interval '1 day'")
	b.Exec("INSERT INTO replicas (region, id, seen_at, steady_since) SELECT 'eu', gen_random_uuid(), now() + c.lease_ttl + interval '1 hour', now() FROM fleet_clock c")
	require.Empty(t, f.reads().Instances())
	require.Equal(t, uint64(emptyHash), f.View().Stats().Hash)
	b.Exec("UPDATE replicas SET seen_at = now() + interval '2 hours' WHERE id = $1", b.replica)
	require.Equal(t, hash, f.reads().Stats().Hash)
	b.Exec("UPDATE replicas SET ended_at = now(), rows_until = now() + interval '2 hours' WHERE id = $1", b.replica)
	require.Len(t, f.reads().Instances(), 1, "the agents of an ended replica stay listed until rows_until")
	b.Exec("UPDATE replicas SET rows_until = now() WHERE id = $1", b.replica)
	require.Empty(t, f.reads().Instances(), "after rows_until they are not listed, even before a worker deletes them")
}

// An agent's lastSyncAt is the later time of its own row and its replica's row, unless it has missed a poll.
func TestLastSync(t *testing.T) {
	t.Parallel()
	b := setup(t)
	f := b.follow(t)
	b.writes(func(c *change) { c.joins(agentID(1)) })
	synced := func() (at int64) {
		var list []db.InstanceInfo
		text, _ := f.reads().AppendInstances(nil, Page{})
		require.NoError(t, json.Unmarshal(text, &list))
		return list[0].LastSyncAt
	}
	b.Exec("UPDATE agent_states SET synced_at = to_timestamp(5), tx = pg_current_xact_id()")
	b.Exec("UPDATE replicas SET heard_since = '-infinity'")
	require.EqualValues(t, 5000, synced())
	hash := f.View().Stats().Hash
	b.Exec("UPDATE replicas SET heard_since = to_timestamp(9)")
	require.EqualValues(t, 9000, synced())
	b.Exec("UPDATE agent_states SET misses = 1, tx = pg_current_xact_id()")
	require.EqualValues(t, 5000, synced())
	require.Equal(t, hash, f.View().Stats().Hash)
}

// Pins a bug: the copy skipped the changes of an older transaction that committed after a younger one was read.
func TestALateCommitIsNotSkipped(t *testing.T) {
	t.Parallel()
	b := setup(t)
	f := b.follow(t)
	b.writes(func(c *change) { c.joins(agentID(1)) })
	f.reads()
	slow := b.begin()
	slow.creates(agentID(1), "r1")
	tx := slow.tx()
	b.writes(func(c *change) { c.joins(agentID(2)) })
	require.Len(t, f.reads().Instances(), 2)
	require.False(t, f.latestReading.Load().readPoint.Includes(tx))
	slow.commit()
	b.shows(f.reads())
	require.True(t, f.latestReading.Load().readPoint.Includes(tx))
}

// After random changes by overlapping transactions, each replica's copy equals a new copy, and all have the same hash
// and list.
func TestReplicasAgree(t *testing.T) {
	t.Parallel()
	b := setup(t)
	replicas, fresh := []*follower{b.follow(t), b.follow(t), b.follow(t)}, b.follow(t)
	rapid.Check(t, func(rt *rapid.T) {
		b.t = rt
		b.Exec("WITH a AS (DELETE FROM agents), r AS (DELETE FROM rooms), e AS (DELETE FROM events) DELETE FROM agent_states")
		b.agents = map[string]*db.InstanceInfo{}
		for _, f := range append(replicas, fresh) {
			f.forgets()
		}
		n := 0
		for range rapid.IntRange(1, 15).Draw(rt, "transactions") {
			c := b.begin()
			foreign := rapid.IntRange(0, 3).Draw(rt, "foreign") == 0
			if foreign { // a younger transaction commits first
				n++
				other := b.begin()
				_ = c.tx()
				other.joins(agentID(n), "r"+agentID(n))
				other.commit()
				replicas[0].reads()
			}
			b.mutate(rt, c, &n)
			c.commit()
			if reader := rapid.IntRange(0, 3).Draw(rt, "reader"); reader < 3 {
				replicas[reader].reads()
			}
		}
		for _, f := range append(replicas, fresh) {
			b.shows(f.reads())
			sameView(rt, fresh.reads(), f.View())
			sameIndexes(rt, fresh.latestReading.Load().fleet, f.latestReading.Load().fleet)
		}
	})
}

// mutate makes a few random changes.
func (b *bundle) mutate(rt *rapid.T, c *change, n *int) {
	for range rapid.IntRange(1, 4).Draw(rt, "changes") {
		ids := b.ids()
		what := rapid.IntRange(0, 6).Draw(rt, "what")
		if len(ids) == 0 || what == 0 {
			*n++
			c.joins(agentID(*n), "r"+agentID(*n), "s"+agentID(*n))
			continue
		}
		id := rapid.SampledFrom(ids).Draw(rt, "agent")
		rooms := b.agents[id].Rooms
		switch {
		case what == 1:
			c.leaves(id)
		case what == 2:
			c.doubts(id)
			c.returns(id)
		case what <= 4 && len(rooms) > 0:
			c.plays(id, rooms[0].ID, rapid.Int32Range(0, 9).Draw(rt, "connections"))
		case what == 5 && len(rooms) > 0:
			c.destroys(id, rooms[len(rooms)-1].ID)
		default:
			*n++
			c.creates(id, "t"+agentID(*n))
		}
	}
}

func (b *bundle) ids() []string { return slices.Sorted(maps.Keys(b.agents)) }

// A running roster follows notifications, and a caller that waits for a transaction sees it even without a
// notification.
func TestReadYourWrite(t *testing.T) {
	t.Parallel()
	b := setup(t)
	f := b.follow(t)
	require.Nil(t, f.View())
	f.run(func(f *follower) { f.pollEvery = time.Hour })
	var tx uint64
	b.writes(func(c *change) { c.joins(agentID(1)); tx = c.tx() })
	f.wait(tx)
	b.shows(f.View())
	silent := b.begin()
	silent.joins(agentID(2))
	tx = silent.tx()
	require.NoError(t, silent.Commit(t.Context()))
	f.wait(tx)
	b.shows(f.View())
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, f.WaitFor(ctx, tx+1_000_000), context.DeadlineExceeded)
	require.Error(t, f.Run(t.Context()))
}

// Without notifications the ticker alone updates the copy.
func TestLostNotifications(t *testing.T) {
	t.Parallel()
	b := setup(t)
	f := b.follow(t)
	f.run(func(f *follower) { f.pollEvery = 20 * time.Millisecond })
	silent := b.begin()
	silent.joins(agentID(1))
	require.NoError(t, silent.Commit(t.Context()))
	for deadline := time.Now().Add(testTimeout); len(f.View().Instances()) == 0; {
		require.True(t, time.Now().Before(deadline))
		<-f.latestReading.Load().replaced
	}
	b.shows(f.View())
}

// replaced is a store whose server is replaced before the next read.
type replaced struct {
	Store

	read atomic.Bool
}

func (r *replaced) RosterSince(ctx context.Context, region string, since db.FeedPoint) (db.RosterPage, error) {
	if !r.read.Swap(true) {
		return db.RosterPage{ServerChanged: true}, nil
	}
	return r.Store.RosterSince(ctx, region, since)
}

// Rows of agents that left are deleted after ten minutes. So a copy that was not updated for five minutes is read
// completely. The same holds after the server was replaced.
func TestAnOldCopyIsMadeAnew(t *testing.T) {
	t.Parallel()
	for name, age := range map[string]func(f *follower){
		"old":            func(f *follower) { f.maxAge = 0 },
		"another server": func(f *follower) { f.Roster.store = &replaced{Store: f.store} },
		"after a panic":  func(f *follower) { f.hasPanicked = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			f := b.follow(t)
			b.writes(func(c *change) { c.joins(agentID(1)); c.joins(agentID(2)) })
			f.reads()
			b.Exec("DELETE FROM agent_states WHERE agent_id = $1", agentID(1))
			require.Len(t, f.reads().Instances(), 2, "no row shows that the agent has left")
			age(f)
			require.Len(t, f.reads().Instances(), 1)
			require.False(t, f.hasPanicked)
		})
	}
}

// A fleet larger than a page, and more changes at once than a page has.
func TestManyAgents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	f := b.follow(t)
	require.Empty(t, f.reads().Instances())
	b.Exec(`INSERT INTO agents (region, id, replica, process_uid, name, endpoint, auto_create, agent_version, protocol_version, key)
		SELECT 'eu', to_hex(n), $1, '', '', '', true, '', 3, '' FROM generate_series(x'1000000000000000'::bigint, x'1000000000000000'::bigint + 1700) n`, b.replica)
	for range 3 { // three transactions
		b.Exec(`INSERT INTO agent_states (region, agent_id, replica, status) SELECT 'eu', a.id, a.replica, 'active' FROM agents a
			WHERE NOT EXISTS (SELECT FROM agent_states s WHERE s.agent_id = a.id) ORDER BY a.id LIMIT 567`)
	}
	b.Exec(`INSERT INTO rooms (region, id, agent_id, base, type, state) SELECT region, 'r' || id AS room, id, 'r', 'match', 'reported' FROM agents`)
	v := f.reads()
	require.Len(t, v.Instances(), 1701)
	fresh := b.follow(t)
	sameView(t, fresh.reads(), v)
	require.Equal(t, 1701, v.Stats().Rooms)
}
