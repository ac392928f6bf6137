package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/dev/devlogin"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/sdk"
)

// history is a database whose history the test writes: the proofs must find what is wrong in it.
type history struct {
	judge

	t *testing.T
}

// killedAt is when the server, the replica and the worker of a history were killed.
var killedAt = time.Now().Add(-time.Minute)

// after is the time so many seconds after the kill.
func after(seconds int) time.Time { return killedAt.Add(time.Duration(seconds) * time.Second) }

func newHistory(t *testing.T) *history {
	return &history{t: t, judge: judge{
		dbPool: dbtest.Connect(t), players: &players{answers: &answers{}},
		chaosRecord: record{killedServer: "dead", serverKilledAt: killedAt,
			killedReplica: replica{baseURL: "http://victim"}, replicaKilledAt: killedAt},
	}}
}

func (h *history) exec(sql string, args ...any) {
	h.t.Helper()
	_, err := h.dbPool.Exec(h.t.Context(), sql, args...)
	require.NoError(h.t, err, sql)
}

// writeSeat writes a past seat: given and left so many seconds after the kill, in a session of its own on the server.
func (h *history) writeSeat(player, server, reason string, given, left int) (session, incarnation uuid.UUID) {
	h.t.Helper()
	session, incarnation = uuid.New(), uuid.New()
	h.exec(`INSERT INTO session_history (region, id, handle, mode, instance_id, incarnation, player_count, max_players, opened_at, reason)
		VALUES ('local', $1, gen_random_uuid(), 'ffa', $2, $3, 1, 8, $4, $5)`, session, server, incarnation, killedAt, reason)
	h.exec(`INSERT INTO seat_history (region, session_id, sub, mode, party, reserved_by, reserved_at, connected_at, left_at, reason)
		VALUES ('local', $1, $2, 'ffa', $1, $2, $3, $3, $4, $5)`, session, player, after(given), after(left), reason)
	return session, incarnation
}

// answerWith is an answer of the killed replica that gave a seat, to a call made so many seconds after the kill and
// answered so many seconds after it.
func answerWith(player string, session uuid.UUID, asked, answered int) answer {
	return answer{matchTicket: sdk.Ticket{SessionID: "local." + session.String()}, playerName: player,
		replicaURL: "http://victim", firstCalledAt: after(asked), answeredAt: after(answered)}
}

// requireBroken requires that a proof fails with this evidence.
func (h *history) requireBroken(p proof, evidence string) {
	h.t.Helper()
	require.False(h.t, p.holds)
	require.Contains(h.t, p.evidenceText, evidence)
}

// The proof finds a player who lost a seat with the server and was not seated again, and one who was seated and did not
// connect.
func TestEvictedPlayersAreMissed(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	h.writeSeat("ann", "dead", "session lease expired", -9, 5)
	h.writeSeat("ann", "other", "left", 6, 20)
	p := h.evictedPlayOn(t.Context())
	require.Equal(t, "1 of 1 on dead (1 inside) play elsewhere, the last after 6.0 s", p.evidenceText)
	require.True(t, p.holds)

	h.writeSeat("ben", "dead", "session lease expired", -9, 5)
	h.writeSeat("ben", "other", "left", -30, -20) // before the kill, which does not count
	h.writeSeat("ben", "dead", "session lease expired", 1, 5)
	h.requireBroken(h.evictedPlayOn(t.Context()), "ben has no seat")

	never, _ := h.writeSeat("ben", "other", "expired", 6, 20)
	h.exec(`UPDATE seat_history SET connected_at = NULL WHERE session_id = $1`, never)
	h.requireBroken(h.evictedPlayOn(t.Context()), "ben has not connected")
}

// The proof finds an acknowledged seat that the database does not have, also when the player had it at another time or
// another player had it.
func TestLostSeatsAreMissed(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	session, _ := h.writeSeat("ann", "other", "left", -10, 10)
	h.players.answers.inOrder = []answer{
		answerWith("ann", session, -9, -9),
		answerWith("ann", session, -9, 30), // the player left during the call, which is allowed
	}
	p := h.nothingLost(t.Context())
	require.True(t, p.holds, p.evidenceText)

	for _, lie := range []answer{answerWith("ben", session, -9, -9), answerWith("ann", session, -11, -11),
		answerWith("ann", session, 30, 30), answerWith("ann", uuid.New(), -9, -9)} {
		h.players.answers.inOrder = []answer{answerWith("ann", session, -9, -9), lie}
		h.requireBroken(h.nothingLost(t.Context()), lie.playerName+" in "+lie.matchTicket.SessionID)
	}
}

// The proof finds a seat that was given on a drained server, but not one of a later incarnation of the server.
func TestIntrudersAreFound(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	_, h.chaosRecord.drainedIncarnation = h.writeSeat("ann", "drained", "left", -10, 10)
	h.writeSeat("ben", "drained", "left", 5, 10)
	h.chaosRecord.drainedAt = killedAt
	h.requireBroken(h.drainHeld(t.Context()), "0 seats given on  since") // nothing was drained

	h.chaosRecord.drainedServer = "drained"
	p := h.drainHeld(t.Context())
	require.True(t, p.holds, p.evidenceText)

	h.chaosRecord.drainedAt = after(-60)
	h.requireBroken(h.drainHeld(t.Context()), "1 seats given on drained")
}

// The proof finds an invariant that is violated now, one that was violated during the play, and one that is in no list.
func TestBrokenInvariantsAreFound(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	p := h.invariantsHold(t.Context())
	require.True(t, p.holds, p.evidenceText)

	h.fleetTally = tally{lookCount: 9, overCapacity: "full", brokenInvariants: "seat count drift: 1"}
	h.requireBroken(h.nobodyOverCapacity(), "over capacity: full")
	h.requireBroken(h.invariantsHold(t.Context()), "broken during the play: seat count drift: 1")

	h.fleetTally = tally{}
	h.exec(`CREATE VIEW ops.invariant_of_tomorrow AS SELECT 1`)
	var views int
	require.NoError(t, h.dbPool.QueryRow(t.Context(), `SELECT count(*) FROM pg_views WHERE schemaname = 'ops' AND viewname LIKE 'invariant\_%'`).Scan(&views))
	h.requireBroken(h.invariantsHold(t.Context()), fmt.Sprintf("%d of %d views", views-1, views))
	h.exec(`CREATE OR REPLACE VIEW ops.invariants AS SELECT 'of tomorrow' AS name, count(*) AS violations FROM ops.invariant_of_tomorrow`)
	h.requireBroken(h.invariantsHold(t.Context()), "broken now: of tomorrow: 1")
}

// A retried call counts from its first attempt, which may have made the decision.
func TestRepeatedCallsCountFromTheFirst(t *testing.T) {
	t.Parallel()
	calls := 0
	director := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls++
		if calls < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, `{"session_id":"local.1","session_token":"secret"}`)
	}))
	defer director.Close()
	login, err := devlogin.New()
	require.NoError(t, err)
	a := newAnswers(login)
	defer a.transport.CloseIdleConnections()
	client, err := sdk.New(sdk.Options{URLs: []string{director.URL}, HTTPClient: &http.Client{Transport: a},
		FirstBackoff: 10 * time.Millisecond})
	require.NoError(t, err)
	before := time.Now()
	player := sdk.NewPlayer(client, func(ctx context.Context) (string, error) { return a.accessToken(ctx, "ann") })
	_, err = player.Matchmake(t.Context(), sdk.MatchRequest{})
	require.NoError(t, err)
	require.Len(t, a.inOrder, 1)
	got := a.inOrder[0]
	require.WithinRange(t, got.firstCalledAt, before, got.answeredAt.Add(-10*time.Millisecond),
		"two pauses of at least 5 ms")
	require.Equal(t, answer{matchTicket: sdk.Ticket{SessionID: "local.1", SessionToken: "secret"}, playerName: "ann",
		replicaURL: director.URL, firstCalledAt: got.firstCalledAt, answeredAt: got.answeredAt}, got)
}
