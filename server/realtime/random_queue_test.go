package realtime

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/matching/loop"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/lobby"
	"github.com/lattice-director/director/server/realtime/realtimetest"
	"github.com/lattice-director/director/server/realtime/wire"
)

// queueTown is three replicas and two workers on one database, with sessions that queue alone for matches of two and
// three.
type queueTown struct {
	*testing.T

	random   *rand.Rand
	url      string
	types    *lobby.Types
	replicas []*served
	workers  []func() // end one
	players  []*queuer
	log      []string
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
	w := &queueTown{T: t, random: random, url: dbtest.New(t)}
	w.types = must.Get(lobby.NewTypes(true, nil))(t)
	w.replicas = []*served{w.replica(), w.replica(), w.replica(mute)}
	w.workers = []func(){w.worker(), w.worker()}
	t.Cleanup(func() {
		for _, end := range w.workers {
			end()
		}
		if t.Failed() {
			t.Log(strings.Join(w.log, "\n"))
		}
	})
	w.replicas[0].database.Exec("UPDATE replicas SET steady_since = clock_timestamp() - interval '1 hour'")
	for n := range 7 {
		w.players = append(w.players, &queuer{name: fmt.Sprint("p", n),
			Client: w.replicas[n%3].client(withCodec([]string{"json", "msgpack"}[n%2]))})
	}
	return w
}

func (w *queueTown) store(change ...func(*db.Config)) *db.Store {
	w.Helper()
	return storetest.Open(w.T, w.url, append(change,
		func(c *db.Config) { c.RoomTypes, c.Queueing = w.types, Queueing("global", 0) })...)
}

func (w *queueTown) replica(change ...func(*db.Config)) *served {
	w.Helper()
	return serveStore(w, w.url, w.store(change...), func(o *Options) { o.RoomTypes = w.types })
}

// worker starts a loop that makes matches. end may be called more than once.
func (w *queueTown) worker() (end func()) {
	w.Helper()
	l := must.Get(loop.New(loop.Options{Store: w.store(), Universe: "global"}))(w)
	ctx, cancel := context.WithCancel(context.Background())
	var over sync.WaitGroup
	over.Go(func() { l.Run(ctx) })
	return func() { cancel(); over.Wait() }
}

func (w *queueTown) notef(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf(format, args...))
}

func (w *queueTown) step() {
	w.Helper()
	p := w.players[w.random.IntN(len(w.players))]
	switch n := w.random.IntN(20); {
	case n < 10:
		w.enqueue(p, float64(2+w.random.IntN(2)))
	case n < 12:
		w.ask(p, "matchmaking.dequeue", nil)
	case n < 14:
		w.notef("%s drops", p.name)
		p.Drop()
	case n < 17:
		w.connect(p)
	case n == 17:
		w.kill()
	default:
		w.replaceWorker()
	}
}

func (w *queueTown) enqueue(p *queuer, size float64) {
	w.Helper()
	if answer, sent := w.ask(p, "matchmaking.enqueue", map[string]any{"roomType": "chat", "size": size}); sent &&
		(answer == nil || answer.OK() || answer.Code() == wire.CodeUnavailable) {
		p.wishes++
	}
}

// ask waits for the outcome of a request, nil if it is unknown. It is not sent if the client is not connected.
func (w *queueTown) ask(p *queuer, kind string, fields map[string]any) (answer realtimetest.Response, sent bool) {
	w.Helper()
	if p.CloseStatus() != 0 {
		return nil, false
	}
	ctx, cancel := context.WithTimeout(w.Context(), patience)
	defer cancel()
	answer, err := p.RPC(ctx, kind, "", fields)
	w.notef("%s %s %v: %v %v", p.name, kind, fields["size"], answer, err)
	require.NoError(w, ctx.Err(), "%s has no answer", kind)
	return answer, true
}

func (w *queueTown) connect(p *queuer) {
	w.Helper()
	at := w.random.IntN(len(w.replicas))
	require.Eventually(w, func() bool { return p.Reconnect(w.Context(), w.replicas[at].address()) == nil }, patience,
		10*time.Millisecond)
	w.notef("%s connects to %d", p.name, at)
	require.True(w, p.Resumed())
}

// kill ends a replica without a word, and starts another.
func (w *queueTown) kill() {
	w.Helper()
	w.notef("a replica is killed")
	dead := w.replicas[1]
	for _, c := range dead.openConns() {
		c.disownSession()
	}
	dead.cut()
	w.replicas[1] = w.replica()
}

func (w *queueTown) replaceWorker() {
	w.Helper()
	w.notef("a worker is replaced")
	n := w.random.IntN(len(w.workers))
	w.workers[n]()
	w.workers[n] = w.worker()
}

// settle lets everybody come back and leave the queue, and compares the matches with what the players were told.
func (w *queueTown) settle() {
	w.Helper()
	sessions := map[string]*queuer{}
	for _, p := range w.players {
		w.connect(p)
		_, sent := w.ask(p, "matchmaking.dequeue", nil)
		require.True(w, sent)
		sessions[p.SessionID()] = p
	}
	matches := map[*queuer]int{}
	database := w.replicas[0].database
	for _, room := range storetest.Values[string](database, "SELECT id FROM lobbies WHERE match_id IS NOT NULL") {
		participants := storetest.One[[]string](database, "SELECT participants FROM lobbies WHERE id = $1", room)
		require.Len(w, participants, database.Count("SELECT size FROM lobbies WHERE id = $1", room))
		for _, id := range participants {
			p := sessions[id]
			require.NotNil(w, p, "only live sessions are matched")
			matches[p]++
			p.Wait(w, room, func(v *realtimetest.View) bool { return v.Count("match.found", room) > 0 })
		}
	}
	require.NotEmpty(w, matches)
	for p, n := range matches {
		require.LessOrEqual(w, n, p.wishes, "%s", p.name)
	}
	require.Zero(w, database.Count("SELECT coalesce(sum(violations), 0) FROM ops.invariants"))
}
