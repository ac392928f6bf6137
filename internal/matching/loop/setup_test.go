package loop_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/matching/loop"
	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/internal/testkit/background"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/internal/testkit/variant"
)

func TestMain(m *testing.M) { dbtest.VerifyNoLeaks(m) }

const (
	universe = "global"
	region   = "eu"
)

// bundle is a database of its own for a test, with a store on it.
type bundle struct {
	*storetest.DB

	t      testing.TB
	change []func(*db.Config) // of the stores of workers
}

func setup(t *testing.T) *bundle {
	t.Helper()
	return newBundle(t)
}

func newBundle(t testing.TB, change ...func(*db.Config)) *bundle {
	t.Helper()
	return &bundle{DB: storetest.New(t, append([]func(*db.Config){production}, change...)...), t: t, change: change}
}

// production sets what the stores of workers have.
func production(c *db.Config) {
	c.BatchTimeout, c.HoldTimeout, c.Log, c.DescribeTicket = 0, 0, slog.New(slog.DiscardHandler), describeTicket
}

func (b *bundle) store() *db.Store {
	b.t.Helper()
	return b.Replica(append([]func(*db.Config){production}, b.change...)...)
}

func describeTicket(body []byte, party []string) db.TicketFacts {
	var privacy ticketbody.Privacy
	facts := db.TicketFacts{Party: privacy.Party(party)}
	if t, err := ticketbody.Decode("", time.Time{}, body, ""); err == nil {
		facts.Attributes, facts.Latencies = privacy.Facts(t)
	}
	return facts
}

// host registers a game server with room for so many players.
func (b *bundle) host(id string, capacity int, modes ...string) {
	b.t.Helper()
	b.AddServer(id, capacity, func(r *db.Registration) { r.Modes = modes })
}

// ticket queues a party for profiles, with the same skill.
func (b *bundle) ticket(skill float64, party []string, profiles ...string) string {
	b.t.Helper()
	return b.QueueDraft(universe, storetest.SkilledDraft(skill, profiles...), party...)
}

// measured queues a player for a profile, with latencies in milliseconds.
func (b *bundle) measured(latencies map[string]uint16, sub, profile string) string {
	b.t.Helper()
	draft := storetest.SkilledDraft(1000, profile)
	draft.Latencies = latencies
	return b.QueueDraft(universe, draft, sub)
}

// worker runs a loop with a store of its own, as in another pod.
func (b *bundle) worker(change ...func(*loop.Options)) (stop func()) {
	b.t.Helper()
	return background.Loop(b.t, b.loop(change...).Run)
}

func (b *bundle) loop(change ...func(*loop.Options)) *loop.Loop {
	b.t.Helper()
	o := variant.Apply(loop.Options{Store: b.store(), Universe: universe,
		Log: slog.New(slog.NewTextHandler(b.t.Output(),
			&slog.HandlerOptions{Level: slog.LevelDebug}))}, change...)
	return must.Get(loop.New(o))(b.t)
}

func party(names ...string) []string { return names }
