package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/dbtest"
	"github.com/lattice-director/director/examples/arena/bots"
	"github.com/lattice-director/director/internal/devlogin"
	"github.com/lattice-director/director/sdk"
)

// history is a database whose history the test writes: the proofs must find what is wrong in it.
type history struct {
	t  *testing.T
	db *pgxpool.Pool
	judge
}

// killedAt is when the server and the replica were killed.
var killedAt = time.Now().Add(-time.Minute)

func newHistory(t *testing.T) *history {
	victim := &replica{addr: "victim:1"}
	db := dbtest.Connect(t)
	return &history{t, db, judge{
		ledger: ledger{db}, players: &players{answers: newAnswers()},
		record: record{server: "dead", serverKilledAt: killedAt, replica: victim, replicaKilledAt: killedAt},
	}}
}

func (h *history) exec(sql string, args ...any) {
	h.t.Helper()
	_, err := h.db.Exec(h.t.Context(), sql, args...)
	require.NoError(h.t, err, sql)
}

// seat writes a past seat: given and left so many seconds after the kill, in a session of its own on the server.
func (h *history) seat(player, server, reason string, given, left int) (session, life uuid.UUID) {
	h.t.Helper()
	session, life = uuid.New(), uuid.New()
	h.exec(`INSERT INTO session_history (region, id, handle, mode, instance_id, incarnation, player_count, max_players, opened_at, reason)
		VALUES ('local', $1, gen_random_uuid(), 'ffa', $2, $3, 1, 8, $4, $5)`, session, server, life, killedAt, reason)
	at := func(seconds int) time.Time { return killedAt.Add(time.Duration(seconds) * time.Second) }
	h.exec(`INSERT INTO seat_history (region, session_id, sub, mode, party, reserved_by, reserved_at, connected_at, left_at, reason)
		VALUES ('local', $1, $2, 'ffa', $1, $2, $3, $3, $4, $5)`, session, player, at(given), at(left), reason)
	return session, life
}

func (h *history) told(player string, session uuid.UUID, seconds int) {
	at := killedAt.Add(time.Duration(seconds) * time.Second)
	h.players.answers.all = append(h.players.answers.all, answer{
		Session: "local." + session.String(), player: player, replica: "victim:1", asked: at, at: at,
	})
}

// The proof finds a player who lost a seat with the server and was not seated again, and one who was seated and did not connect.
func TestEvictedPlayersAreMissed(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	h.seat("ann", "dead", "session lease expired", -9, 5)
	h.seat("ann", "other", "left", 6, 20)
	p, err := h.evictedPlayOn(t.Context())
	require.NoError(t, err)
	require.True(t, p.ok, p.evidence)
	require.Equal(t, "1 of 1 on dead (1 inside) play elsewhere, the last after 6.0 s", p.evidence)

	h.seat("ben", "dead", "session lease expired", -9, 5)
	h.seat("ben", "other", "left", -30, -20) // before the kill, which does not count
	h.seat("ben", "dead", "session lease expired", 1, 5)
	p, err = h.evictedPlayOn(t.Context())
	require.NoError(t, err)
	require.False(t, p.ok)
	require.Contains(t, p.evidence, "without a seat: ben")

	never, _ := h.seat("ben", "other", "expired", 6, 20)
	h.exec(`UPDATE seat_history SET connected_at = NULL WHERE session_id = $1`, never)
	p, err = h.evictedPlayOn(t.Context())
	require.NoError(t, err)
	require.False(t, p.ok)
	require.Contains(t, p.evidence, "not there yet: ben")
}

// The proof finds an acknowledged seat that the database does not have, also when the player had it at another time or another
// player had it.
func TestLostSeatsAreMissed(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	session, _ := h.seat("ann", "other", "left", -10, 10)
	h.told("ann", session, -9)
	slow := h.players.answers.all[0]
	slow.at = killedAt.Add(30 * time.Second) // the player left during the call, which is allowed
	h.players.answers.all = append(h.players.answers.all, slow)
	p, err := h.nothingLost(t.Context())
	require.NoError(t, err)
	require.True(t, p.ok, p.evidence)

	for _, lie := range []struct {
		player  string
		session uuid.UUID
		at      int
	}{{"ben", session, -9}, {"ann", session, -11}, {"ann", session, 30}, {"ann", uuid.New(), -9}} {
		h.players.answers.all = h.players.answers.all[:1]
		h.told(lie.player, lie.session, lie.at)
		p, err = h.nothingLost(t.Context())
		require.NoError(t, err)
		require.False(t, p.ok)
		require.Contains(t, p.evidence, lie.player+" in local."+lie.session.String())
	}
}

// The proof finds a seat that was given on a drained server, but not one of a later incarnation of the server.
func TestIntrudersAreFound(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	_, life := h.seat("ann", "drained", "left", -10, 10)
	h.seat("ben", "drained", "left", 5, 10)
	h.drained, h.drainedIncarnation, h.drainedAt = "drained", life, killedAt
	p, err := h.drainHeld(t.Context())
	require.NoError(t, err)
	require.True(t, p.ok, p.evidence)

	h.drainedAt = killedAt.Add(-time.Minute)
	p, err = h.drainHeld(t.Context())
	require.NoError(t, err)
	require.False(t, p.ok)
	require.Contains(t, p.evidence, "1 seats given on drained")
}

// The proof finds an invariant that is violated now, and one that was violated during the play.
func TestBrokenInvariantsAreFound(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	p, err := h.invariantsHold(t.Context())
	require.NoError(t, err)
	require.True(t, p.ok, p.evidence)

	h.tally.add(view{
		servers: []serverRow{{Name: "full", Reserved: 9, Capacity: 8}}, broken: []brokenRow{{"seat count drift", 1}},
	})
	p, err = h.invariantsHold(t.Context())
	require.NoError(t, err)
	require.False(t, p.ok)
	p, err = h.nobodyOverCapacity(t.Context())
	require.NoError(t, err)
	require.False(t, p.ok)

	h.exec(`CREATE VIEW ops.invariant_of_tomorrow AS SELECT 1`)
	p, err = h.invariantsHold(t.Context())
	require.NoError(t, err)
	require.Contains(t, p.evidence, "broken now: of_tomorrow: 1")
}

// A retried call counts from its first attempt, which may have made the decision.
func TestRepeatedCallsCountFromTheFirst(t *testing.T) {
	t.Parallel()
	answers := 0
	director := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if answers++; answers < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, `{"session_id":"local.1","session_token":"secret"}`)
	}))
	defer director.Close()
	w := newAnswers()
	defer w.CloseIdleConnections()
	client, err := sdk.New(sdk.Options{URLs: []string{director.URL}, HTTPClient: &http.Client{Transport: w}, FirstBackoff: 10 * time.Millisecond})
	require.NoError(t, err)
	key, err := devlogin.New()
	require.NoError(t, err)
	login, err := bots.LoadIssuer(string(key.JWK()))
	require.NoError(t, err)
	before := time.Now()
	player := sdk.NewPlayer(client, func(ctx context.Context) (string, error) { return login.AccessToken(ctx, "ann") })
	_, err = player.Matchmake(t.Context(), sdk.MatchRequest{})
	require.NoError(t, err)
	require.Len(t, w.all, 1)
	told := w.all[0]
	require.Equal(t, "ann", told.player)
	require.Equal(t, "local.1", told.Session)
	require.Equal(t, director.URL, "http://"+told.replica)
	require.WithinRange(t, told.asked, before, told.at.Add(-10*time.Millisecond), "two pauses of at least 5 ms")
	require.Equal(t, "secret", told.Token)
}
