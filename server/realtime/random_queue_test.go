package realtime

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/matching/loop"
	"github.com/lattice-director/director/internal/testkit/background"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/lobby"
	"github.com/lattice-director/director/server/realtime/realtimetest"
	"github.com/lattice-director/director/server/realtime/wire"
)

// queueTown is three replicas and two workers on one database, with sessions that queue alone for matches of two and
// three.
type queueTown struct {
	*town

	types   *lobby.Types
	workers []func() // end one
	players []*queuer
}

type queuer struct {
	*realtimetest.Client

	name   string
	wishes int // enqueues that were accepted, or may have been
}

// Sessions queue, leave the queue, lose their connection and resume elsewhere, while replicas are killed, one has no
// notifications, and workers come and go. No session is in more matches than it queued for, each match has its size,
// and every participant is told of it.
func TestRandomQueueingOnThreeReplicas(t *testing.T) {
	t.Parallel()
	for range 3 {
		seed := rand.Uint64()
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w := newQueueTown(t, rand.New(rand.NewPCG(seed, seed)))
			for range 100 {
				w.step()
			}
			w.settle()
		})
	}
}

func newQueueTown(t *testing.T, random *rand.Rand) *queueTown {
	t.Helper()
	w := &queueTown{town: newTown(t, random), types: must.Get(lobby.NewTypes(true, nil))(t)}
	w.replicas = []*served{w.replica(), w.replica(), w.replica(mute)}
	w.workers = []func(){w.worker(), w.worker()}
	w.database.Exec("UPDATE replicas SET steady_since = clock_timestamp() - interval '1 hour'")
	for n := range 7 {
		w.players = append(w.players, &queuer{name: fmt.Sprint("p", n),
			Client: w.replicas[n%3].client(withCodec([]string{"json", "msgpack"}[n%2]))})
	}
	return w
}

func (w *queueTown) store(change ...func(*db.Config)) *db.Store {
	w.Helper()
	return storetest.Open(w.T, w.database.URL, append(change,
		func(c *db.Config) { c.RoomTypes, c.Queueing = w.types, Queueing("global", 0) })...)
}

func (w *queueTown) replica(change ...func(*db.Config)) *served {
	w.Helper()
	return serveStore(w.T, w.database.URL, w.store(change...), func(o *Options) { o.RoomTypes = w.types })
}

// worker starts a loop that makes matches.
func (w *queueTown) worker() (end func()) {
	w.Helper()
	return background.Loop(w, must.Get(loop.New(loop.Options{Store: w.store(), Universe: "global"}))(w).Run)
}

func (w *queueTown) step() {
	w.Helper()
	p := w.players[w.random.IntN(len(w.players))]
	switch n := w.random.IntN(20); {
	case n < 10:
		w.enqueue(p, 2+w.random.IntN(2))
	case n < 12:
		w.ask(p.name, p.Client, "matchmaking.dequeue", "", nil)
	case n < 14:
		w.notef("%s drops", p.name)
		p.Drop()
	case n < 17:
		w.connect(p.name, p.Client)
	case n == 17:
		w.kill(1, func() *served { return w.replica() })
	default:
		w.notef("a worker is replaced")
		n := w.random.IntN(len(w.workers))
		w.workers[n]()
		w.workers[n] = w.worker()
	}
}

// enqueue queues a player for a match of a size, in place of what the player queued for before.
func (w *queueTown) enqueue(p *queuer, size int) {
	w.Helper()
	answer, sent := w.ask(p.name, p.Client, "matchmaking.enqueue", "", map[string]any{"roomType": "chat", "size": float64(size)})
	if sent && (answer == nil || answer.OK() || answer.Code() == wire.CodeUnavailable) {
		p.wishes++
	}
}

// settle lets everybody come back, be matched once more, whatever happened before, and leave the queue, and compares
// the matches with what the players were told.
func (w *queueTown) settle() {
	w.Helper()
	before := w.database.Count("SELECT count(*) FROM lobbies WHERE match_id IS NOT NULL")
	for _, p := range w.players {
		w.connect(p.name, p.Client)
		w.enqueue(p, 2)
	}
	w.database.Await("SELECT count(*) >= $1 FROM lobbies WHERE match_id IS NOT NULL", before+len(w.players)/2)
	sessions := map[string]*queuer{}
	for _, p := range w.players {
		_, sent := w.ask(p.name, p.Client, "matchmaking.dequeue", "", nil)
		require.True(w, sent)
		sessions[p.SessionID()] = p
	}
	matches := map[*queuer]int{}
	for _, room := range storetest.Values[string](w.database, "SELECT id FROM lobbies WHERE match_id IS NOT NULL") {
		participants := storetest.One[[]string](w.database, "SELECT participants FROM lobbies WHERE id = $1", room)
		require.Len(w, participants, w.database.Count("SELECT size FROM lobbies WHERE id = $1", room))
		for _, id := range participants {
			p := sessions[id]
			require.NotNil(w, p, "only live sessions are matched")
			matches[p]++
			p.Wait(w, room, func(v *realtimetest.View) bool { return v.Count("match.found", room) > 0 })
		}
	}
	for p, n := range matches {
		require.LessOrEqual(w, n, p.wishes, "%s", p.name)
	}
	require.Zero(w, w.database.Count("SELECT coalesce(sum(violations), 0) FROM ops.invariants"))
}
