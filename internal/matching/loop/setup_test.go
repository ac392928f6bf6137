package loop_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/matching/loop"
	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/variant"
	"github.com/lattice-director/director/match"
)

func TestMain(m *testing.M) { dbtest.VerifyNoLeaks(m) }

const (
	universe = "global"
	region   = "eu"
)

// bundle is a database of its own for a test, with a store on it.
type bundle struct {
	*db.Store

	t      testing.TB
	url    string
	sql    *pgxpool.Pool
	change []func(*db.Config) // of the stores of workers
}

func setup(t *testing.T) *bundle {
	t.Helper()
	return newBundle(t)
}

func newBundle(t testing.TB) *bundle {
	t.Helper()
	b := &bundle{t: t, url: dbtest.New(t)}
	b.Store = b.store()
	b.sql = must.Get(pgxpool.New(t.Context(), b.url))(t)
	t.Cleanup(b.sql.Close)
	return b
}

func (b *bundle) store() *db.Store {
	b.t.Helper()
	c := db.Config{URL: b.url, MaxConns: 8, Log: slog.New(slog.DiscardHandler), Describe: describeTicket}
	for _, change := range b.change {
		change(&c)
	}
	s := must.Get(db.Open(b.t.Context(), c))(b.t)
	b.t.Cleanup(s.Close)
	return s
}

func describeTicket(body []byte, party []string) db.TicketFacts {
	var privacy ticketbody.Privacy
	facts := db.TicketFacts{Party: privacy.Party(party)}
	if t, err := ticketbody.Decode("", time.Time{}, body, ""); err == nil {
		facts.Attributes, facts.Latencies = privacy.Facts(t)
	}
	return facts
}

// profile makes a document the live version of a profile.
func (b *bundle) profile(name, document string) {
	b.t.Helper()
	must.Get(b.ApplyProfile(b.t.Context(), db.ProfileEdit{Region: universe, Author: "test"}, []byte("name: "+name+"\n"+document), false))(b.t)
}

// host registers a game server with room for so many players.
func (b *bundle) host(id string, capacity int, modes ...string) {
	b.t.Helper()
	must.Get(b.Register(b.t.Context(), db.Registration{
		InstanceID: id, Region: region, Endpoint: id + ":7000", Modes: modes, Capacity: capacity,
	}))(b.t)
}

// ticket queues a party for profiles, with the same skill.
func (b *bundle) ticket(skill float64, party []string, profiles ...string) string {
	b.t.Helper()
	return b.draft(ticketbody.Draft{Profiles: profiles, Attributes: match.Attributes{"skill": {Kind: match.Number, Number: skill}}}, party...)
}

// measured queues a player for a profile, with latencies in milliseconds.
func (b *bundle) measured(latencies map[string]uint16, sub, profile string) string {
	b.t.Helper()
	return b.draft(ticketbody.Draft{Profiles: []string{profile}, Attributes: match.Attributes{"skill": {Kind: match.Number, Number: 1000}}, Latencies: latencies}, sub)
}

// draft queues a party.
func (b *bundle) draft(d ticketbody.Draft, party ...string) string {
	b.t.Helper()
	for _, sub := range party {
		d.Players = append(d.Players, match.Player{Sub: sub})
	}
	prepared := must.Get(ticketbody.Prepare(d))(b.t)
	created := must.Get(b.CreateTicket(b.t.Context(), universe, db.NewTicket{
		Fields: ticketbody.Fields(d),
		Encode: prepared.Body,
	}))(b.t)
	must.Get(b.sql.Exec(b.t.Context(), `INSERT INTO ticket_players (region, sub, profile, ticket_id, request_hash)
		SELECT $1, s, p, $2, '' FROM unnest($3::text[]) s, unnest($4::text[]) p`, universe, created.ID, party, d.Profiles))(b.t)
	return created.ID
}

// worker runs a loop with a store of its own, as in another pod.
func (b *bundle) worker(change ...func(*loop.Options)) (stop func()) {
	b.t.Helper()
	return b.run(b.loop(change...))
}

func (b *bundle) loop(change ...func(*loop.Options)) *loop.Loop {
	b.t.Helper()
	o := variant.Of(loop.Options{Store: b.store(), Universe: universe, Log: slog.New(slog.NewTextHandler(b.t.Output(), &slog.HandlerOptions{Level: slog.LevelDebug}))}, change...)
	return must.Get(loop.New(o))(b.t)
}

// run runs a loop until the test ends or stop is called.
func (b *bundle) run(l *loop.Loop) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(b.t.Context()))
	done := make(chan struct{})
	go func() { defer close(done); l.Run(ctx) }()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	b.t.Cleanup(stop)
	return stop
}

// count returns what a query counts.
func (b *bundle) count(query string, args ...any) (n int) {
	b.t.Helper()
	require.NoError(b.t, b.sql.QueryRow(b.t.Context(), query, args...).Scan(&n))
	return n
}

// eventually waits until a query counts n. A machine that runs other tests takes many times as long as one alone.
func (b *bundle) eventually(n int, query string, args ...any) {
	b.t.Helper()
	var got int
	require.Eventually(b.t, func() bool {
		return b.sql.QueryRow(b.t.Context(), query, args...).Scan(&got) == nil && got == n
	}, time.Minute, 20*time.Millisecond, "%s: want %d", query, n)
}

// requireInvariants fails the test where an invariant does not hold.
func (b *bundle) requireInvariants() {
	b.t.Helper()
	rows := must.Get(b.sql.Query(b.t.Context(), "SELECT name, violations FROM ops.invariants WHERE violations > 0"))(b.t)
	defer rows.Close()
	var broken []string
	for rows.Next() {
		var name string
		var n int
		require.NoError(b.t, rows.Scan(&name, &n))
		broken = append(broken, fmt.Sprintf("%s: %d", name, n))
	}
	require.Empty(b.t, strings.Join(broken, ", "))
}

func party(names ...string) []string { return names }
