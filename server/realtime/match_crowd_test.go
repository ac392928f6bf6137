package realtime

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/lattice-director/director/server/realtime/realtimetest"
)

// friends are the members of a party, and the match for which it queues.
type friends struct {
	room    string
	kind    string // of the match's room
	size    int    // of the match
	members []*realtimetest.Client
}

// crowds are parties of one to three whose players fill matches of four to six, 100 players in all. Each match has a
// room type of its own: of one type, parties might be left that fill none, such as three and three for a match of four.
func crowds() (all []*friends) {
	for i, size := range slices.Concat(slices.Repeat([]int{4, 5, 6}, 6), []int{4, 6}) {
		for open := size; open > 0; {
			n := min(1+rand.IntN(3), open)
			open -= n
			all = append(all, &friends{room: fmt.Sprint("party:", len(all)), kind: fmt.Sprint("crowd", i), size: size,
				members: make([]*realtimetest.Client, n)})
		}
	}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// gather joins the members into their party.
func (k *friends) gather(t *testing.T) {
	t.Helper()
	for _, c := range k.members {
		c.Join(t, "party", k.room, map[string]any{"private": false})
	}
}

func (k *friends) queue(t *testing.T) {
	t.Helper()
	k.members[0].Must(t, "room.message", k.room, map[string]any{
		"type": "queue", "data": map[string]any{"room_type": k.kind, "size": float64(k.size)},
	})
}

// eachOf calls fn for parties, several at a time.
func eachOf(t *testing.T, all []*friends, fn func(*friends)) {
	t.Helper()
	var g errgroup.Group
	g.SetLimit(8)
	for _, k := range all {
		g.Go(func() error { fn(k); return nil })
	}
	require.NoError(t, g.Wait())
}

// Parties queue on two replicas, one of which stops in between: its clients resume on the other one. Everybody ends in
// the room of exactly one match.
func TestEveryoneEndsInOneMatchThoughAReplicaStops(t *testing.T) {
	t.Parallel()
	a, b := matchmaking(t)
	all := crowds()
	onA := map[*realtimetest.Client]bool{}
	for _, k := range all {
		for i := range k.members {
			v := []*served{a, b}[rand.IntN(2)]
			k.members[i] = v.client()
			onA[k.members[i]] = v == a
		}
	}
	eachOf(t, all, func(k *friends) { k.gather(t) })
	half := len(all) / 2
	eachOf(t, all[:half], func(k *friends) { k.queue(t) })
	a.end()
	eachOf(t, all, func(k *friends) {
		for _, c := range k.members {
			if onA[c] {
				require.NoError(t, c.Reconnect(t.Context(), b.address()))
				require.True(t, c.Resumed())
			}
		}
	})
	eachOf(t, all[half:], func(k *friends) { k.queue(t) })
	// Everybody joins the room of its match, and there is one.
	players := 0
	for _, k := range all {
		for _, c := range k.members {
			players++
			room, p := found(t, c)
			require.Len(t, p["participants"], k.size)
			require.Contains(t, p["participants"], c.SessionID())
			c.Join(t, k.kind, room, nil)
		}
	}
	for _, k := range all {
		first, _ := found(t, k.members[0])
		for _, c := range k.members {
			room, _ := found(t, c)
			require.Equal(t, first, room, "a party stays together")
			c.Wait(t, "all members", func(view *realtimetest.View) bool { return len(view.Room(room).Members) == k.size })
			require.Len(t, c.EventsOf("match.found", ""), len(c.EventsOf("match.found", room)), "other matches")
		}
	}
	require.Equal(t, players,
		b.database.Count("SELECT count(*) FROM lobby_members m JOIN lobbies l ON l.uid = m.lobby WHERE l.match_id IS NOT NULL AND m.state = 'joined'"))
	require.Zero(t, b.database.Count(`SELECT count(*) FROM (SELECT FROM lobby_members m JOIN lobbies l ON l.uid = m.lobby WHERE l.match_id IS NOT NULL
		GROUP BY m.session HAVING count(*) > 1) twice`))
	require.Zero(t, b.database.Count("SELECT count(*) FROM realtime_tickets"))
	require.Zero(t, b.database.Count("SELECT coalesce(sum(violations), 0) FROM ops.invariants"))
}
