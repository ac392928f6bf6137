package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// writeMatch writes a duel of two tickets, decided so many seconds after the kill, whose players have these skills, and
// returns its id.
func (h *history) writeMatch(epoch, decided int, skills map[string]int) (id uuid.UUID) {
	h.t.Helper()
	id = uuid.New()
	session := uuid.New()
	var tickets []string
	for player, skill := range skills {
		ticket := fmt.Sprintf("%s-%s", player, id)
		tickets = append(tickets, ticket)
		h.exec(`INSERT INTO ticket_history (region, id, created, left_at, profiles, party, attributes, outcome, match_id)
			VALUES ('global', $1, $2, $3, '{ranked}', ARRAY[$4], jsonb_build_object($4::text, jsonb_build_object('skill', $5::int)), 'assigned', $6)`,
			ticket, after(decided-1), after(decided), player, skill, id)
		team := "red"
		if len(tickets)%2 == 0 {
			team = "blue"
		}
		h.exec(`INSERT INTO seat_history (region, session_id, sub, mode, party, reserved_by, reserved_at, left_at, reason, match_id, team)
			VALUES ('local', $1, $2, 'teams', $1, $2, $3, $4, 'left', $5, $6)`, session, player, after(decided), after(decided+5), id, team)
	}
	h.exec(`INSERT INTO match_history (region, id, profile, version, epoch, seed, game_region, mode, session_id, tickets, players, why, decided_at)
		VALUES ('global', $1, 'ranked', 1, $2, 1, 'local', 'teams', $3, $4, $5, '{}', $6)`, id, epoch, session, tickets, len(tickets), after(decided))
	return id
}

// eight are the skills of two teams: that of the first seven players, and that of the last.
func eight(skill, last int) map[string]int {
	skills := map[string]int{"bot-8": last}
	for i := range 7 {
		skills[fmt.Sprint("bot-", i+1)] = skill
	}
	return skills
}

// The proof finds a player without the seat of a match, and one with two.
func TestMissingSeatsAreFound(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	h.requireBroken(h.oneSeatEach(t.Context()), "0 players in 0 matches")
	id := h.writeMatch(1, 0, eight(1500, 1500))
	p := h.oneSeatEach(t.Context())
	require.True(t, p.holds, p.evidenceText)
	require.Equal(t, "8 players in 1 matches", p.evidenceText)

	h.exec(`UPDATE seat_history SET session_id = gen_random_uuid(), match_id = NULL, team = NULL WHERE sub = 'bot-3'`)
	h.requireBroken(h.oneSeatEach(t.Context()), "bot-3 with 0 in "+id.String())
	h.exec(`INSERT INTO seat_history (region, session_id, sub, mode, party, reserved_by, reserved_at, left_at, reason, match_id, team)
		SELECT region, x.id, 'bot-3', mode, x.id, 'bot-3', reserved_at, left_at, reason, match_id, team
		FROM seat_history CROSS JOIN (VALUES (gen_random_uuid()), (gen_random_uuid())) x(id) WHERE sub = 'bot-4'`)
	h.requireBroken(h.oneSeatEach(t.Context()), "bot-3 with 2 in "+id.String())
}

// The proof finds a match that its profile does not allow.
func TestBrokenRulesAreFound(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	require.False(t, h.rulesHold(t.Context()).holds, "nothing was matched")
	h.writeMatch(1, 0, eight(1500, 1700))
	p := h.rulesHold(t.Context())
	require.True(t, p.holds, p.evidenceText)
	bad := h.writeMatch(1, 10, eight(1500, 1901))
	h.requireBroken(h.rulesHold(t.Context()), "match "+bad.String()+" breaks near-skill")
}

// Only a worker that was killed may have lost the tickets of a match, and only of its last.
func TestUnrecordedTicketsAreFound(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	h.chaosRecord.queueing.workerKilledAt, h.chaosRecord.queueing.epochKilled = after(0), 1
	h.writeMatch(1, -10, eight(1500, 1500))
	last := h.writeMatch(1, -1, eight(1500, 1500))
	h.exec(`DELETE FROM ticket_history WHERE match_id = $1`, last)
	p := h.rulesHold(t.Context())
	require.True(t, p.holds, p.evidenceText)
	require.Contains(t, p.evidenceText, "1 matches were checked")
	require.Contains(t, p.evidenceText, "the tickets of its last 1")
	require.True(t, h.oneSeatEach(t.Context()).holds)
	h.exec(`DELETE FROM seat_history WHERE match_id = $1 AND sub = 'bot-3'`, last)
	h.requireBroken(h.oneSeatEach(t.Context()), last.String()+" with 8 players and 7 seats")

	later := h.writeMatch(1, 10, eight(1500, 1500))
	h.exec(`DELETE FROM ticket_history WHERE match_id = $1`, later)
	h.requireBroken(h.rulesHold(t.Context()), "the tickets of match "+later.String()+" (0 of its 8")
}

// The proof finds a queue in which nothing was matched after the worker had been killed.
func TestAStoppedQueueIsFound(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	h.chaosRecord.queueing.workerKilledAt, h.chaosRecord.queueing.takenOverAt, h.chaosRecord.queueing.epochKilled = after(0), after(1), 1
	h.writeMatch(1, -5, eight(1500, 1500))
	h.requireBroken(h.matchingWentOn(t.Context()), "1 matches before, 0 after")
	h.writeMatch(2, 3, eight(1500, 1500))
	p := h.matchingWentOn(t.Context())
	require.True(t, p.holds, p.evidenceText)
	require.Equal(t, "1 matches before, 1 after another took over within 1.0 s", p.evidenceText)
	h.chaosRecord.queueing.takenOverAt = after(-1) // handed over in the moment before the kill
	p = h.matchingWentOn(t.Context())
	require.True(t, p.holds, p.evidenceText)
	require.Contains(t, p.evidenceText, "1 after another took over within 0.0 s")
	h.chaosRecord.queueing.takenOverAt = time.Time{}
	require.False(t, h.matchingWentOn(t.Context()).holds, "nobody took over")
}

// The proof finds a ticket that waited for the first server and never got one.
func TestForgottenWaitersAreFound(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	h.chaosRecord.queueing.serversStartAt = after(0)
	require.False(t, h.waitersSeated(t.Context()).holds, "nobody waited")
	event := func(ticket, state string, n, at int) {
		h.exec(`INSERT INTO ticket_events (region, ticket_id, n, at, state, party) VALUES ('global', $1, $2, $3, $4, '{ann}')`, ticket, n, after(at), state)
	}
	event("t1", "waiting_for_server", 1, -1)
	event("t1", "assigned", 2, 1)
	p := h.waitersSeated(t.Context())
	require.True(t, p.holds, p.evidenceText)
	require.Equal(t, "1 tickets waited before the first game server; 1 were assigned, all within 1.0 s", p.evidenceText)
	event("t2", "waiting_for_server", 1, -1)
	h.requireBroken(h.waitersSeated(t.Context()), "2 tickets waited before the first game server; 1 were assigned")
}
