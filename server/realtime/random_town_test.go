package realtime

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/server/realtime/realtimetest"
)

// town is replicas on one database, whose clients do random things, and what happened.
type town struct {
	*testing.T

	random   *rand.Rand
	database *storetest.DB
	replicas []*served
	log      []string
}

// newTown makes a town without replicas, which logs what happened if the test fails.
func newTown(t *testing.T, random *rand.Rand) *town {
	t.Helper()
	w := &town{T: t, random: random, database: storetest.New(t)}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(strings.Join(w.log, "\n"))
		}
	})
	return w
}

func (w *town) notef(format string, args ...any) { w.log = append(w.log, fmt.Sprintf(format, args...)) }

// ask waits for the outcome of a request, nil if it is unknown. It is not sent if the client is not connected.
func (w *town) ask(name string, c *realtimetest.Client, kind, room string, p map[string]any) (answer realtimetest.Response, sent bool) {
	w.Helper()
	if c.CloseStatus() != 0 {
		return nil, false
	}
	ctx, cancel := context.WithTimeout(w.Context(), patience)
	defer cancel()
	answer, err := c.RPC(ctx, kind, room, p)
	w.notef("%s %s %s %v: %v %v", name, kind, room, p, answer, err)
	require.NoError(w, ctx.Err(), "%s has no answer", kind)
	return answer, true
}

// connect resumes the session of a client at any replica.
func (w *town) connect(name string, c *realtimetest.Client) {
	w.Helper()
	at := w.random.IntN(len(w.replicas))
	require.Eventually(w, func() bool { return c.Reconnect(w.Context(), w.replicas[at].address()) == nil }, patience,
		10*time.Millisecond)
	w.notef("%s connects to %d, as %s", name, at, c.SessionID())
	require.True(w, c.Resumed())
}

// kill kills a replica, and starts another one: its connections break, and nothing of it reaches the database any more.
func (w *town) kill(n int, start func() *served) {
	w.Helper()
	w.notef("replica %d is killed", n)
	for _, c := range w.replicas[n].openConns() {
		c.disownSession()
	}
	w.replicas[n].cut()
	w.replicas[n] = start()
}
