package db_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/match"
)

// propose asks the players of a match, for a minute.
func (m *matches) propose(d db.NewMatch) {
	m.t.Helper()
	out := must.Get(m.ProposeMatches(m.t.Context(), universe, []db.MatchOwner{m.owner}, []db.NewMatch{d},
		time.Minute))(m.t)
	require.Equal(m.t, db.MatchProposed.String(), out[0].Kind.String(), "%+v", out[0])
}

func (m *matches) answer(k db.MatchTicket, sub string, accept bool) db.ReadyCheck {
	m.t.Helper()
	return must.Get(m.AnswerReadyCheck(m.t.Context(), universe, db.ReadyCheckAnswer{TicketID: k.ID, PlayerSub: sub,
		Accept: accept}))(m.t)
}

// judge ends the ready checks at their deadline.
func (m *matches) judge(owners ...db.MatchOwner) db.JudgedReadyChecks {
	m.t.Helper()
	m.Exec("UPDATE matches SET deadline = now() WHERE state <> 'playing'")
	return must.Get(m.JudgeReadyChecks(m.t.Context(), universe, owners, 0, 100))(m.t)
}

// All accept: the match is committed by the tickets' own marks, and nobody else gets them before.
func TestAReadyCheckThatAllAccept(t *testing.T) {
	t.Parallel()
	m := setupMatches(t)
	d := matchOf(m.queued("red", "ann", "bob"), m.queued("blue", "cid", "dan"))
	m.propose(d)
	require.Equal(t, "accepting", m.state(d.Tickets[0].ID))
	require.Empty(t, m.waiting(m.Store, match.Pool{}))
	require.Equal(t, db.MatchTicketsGone, m.commit(matchOf(d.Tickets...))[0].Kind, "no other match has them")
	require.Equal(t, db.RefusedUnaccepted, m.commitAccepted(d).RefusalReason)

	yes := true
	check := m.answer(d.Tickets[0], "ann", true)
	require.Equal(t, db.ReadyCheck{MatchID: d.ID, AnswerUntil: check.AnswerUntil, PlayerCount: 4, AcceptedCount: 1,
		YouAccepted: &yes}, check)
	require.Equal(t, check, m.answer(d.Tickets[0], "ann", true), "repeated")
	until := m.sees("ann", d.Tickets[0].ID).ReadyCheck.AnswerUntil
	for _, sub := range []string{"bob", "cid", "dan"} {
		check = m.answer(d.Tickets[map[string]int{"bob": 0, "cid": 1, "dan": 1}[sub]], sub, true)
	}
	require.True(t, check.IsDone)
	require.Equal(t, 4, check.AcceptedCount)
	seen := m.sees("ann", d.Tickets[0].ID)
	require.Equal(t, db.TicketAccepting, seen.State, "until the match is committed, and not queued again")
	require.Equal(t, db.PlayerReadyCheck{AnswerUntil: until, PlayerCount: 4, AcceptedCount: 4, YouAccepted: true},
		*seen.ReadyCheck)
	require.Equal(t, 4, one[int](m.bundle, "SELECT count(*) FROM ticket_players WHERE seen_at IS NOT NULL"))

	open, err := m.OpenReadyChecks(t.Context(), universe, "duels")
	require.NoError(t, err)
	require.Len(t, open, 1)
	again := open[0].Match
	require.True(t, again.Accepted)
	require.Equal(t, d.Tickets[1].Players, again.Tickets[1].Players)
	require.Equal(t, d.Seed, again.Seed)

	ended, err := m.RenewAccepted(t.Context(), universe, []db.MatchOwner{m.owner}, []db.NewMatch{again})
	require.NoError(t, err)
	require.Empty(t, ended)
	p := m.requireCommitted(m.commit(again)[0])
	require.Equal(t, p, m.place(request("dan", 4, "cid")))
	require.Equal(t, []string{"playing"}, m.Rows("SELECT state FROM matches"))
	require.Zero(t, one[int](m.bundle, "SELECT count(*) FROM match_accepts"))
	require.Equal(t, "assigned", m.state(d.Tickets[0].ID))
	_, err = m.AnswerReadyCheck(t.Context(), universe,
		db.ReadyCheckAnswer{TicketID: d.Tickets[0].ID, PlayerSub: "ann", Accept: true})
	requireKind(t, fault.Conflict, "too_late", err)
	ended, err = m.RenewAccepted(t.Context(), universe, []db.MatchOwner{m.owner}, []db.NewMatch{again})
	require.NoError(t, err)
	require.Len(t, ended, 1)
	m.RequireInvariants()
}

func (m *matches) commitAccepted(d db.NewMatch) db.MatchOutcome {
	m.t.Helper()
	d.Accepted = true
	return m.commit(d)[0]
}

// A decline ends the ready check at once. The declining party leaves the queue; the other parties return to their
// place, even if they had not answered yet.
func TestADeclineEndsAReadyCheck(t *testing.T) {
	t.Parallel()
	m := setupMatches(t)
	accepted, declined, silent := m.queued("red", "ann"), m.queued("red", "bob", "cid"), m.queued("blue", "dan", "eve")
	created := one[int64](m.bundle, "SELECT created FROM tickets WHERE id = $1", accepted.ID)
	m.propose(matchOf(accepted, declined, silent))
	m.answer(accepted, "ann", true)
	m.answer(declined, "bob", true)
	m.answer(silent, "dan", true)
	require.Empty(t, m.Rows("SELECT FROM matches WHERE deadline <= now()"))
	none, err := m.JudgeReadyChecks(t.Context(), universe, nil, 0, 100)
	require.NoError(t, err)
	require.Empty(t, none)
	first := m.answer(declined, "cid", false)
	require.True(t, first.IsDone)
	again := m.answer(declined, "cid", false)
	first.AnswerUntil, again.AnswerUntil = time.Time{}, time.Time{} // the first has ended the check
	require.Equal(t, first, again)
	_, err = m.AnswerReadyCheck(t.Context(), universe,
		db.ReadyCheckAnswer{TicketID: silent.ID, PlayerSub: "eve", Accept: true})
	requireKind(t, fault.Conflict, "too_late", err)

	done, err := m.JudgeReadyChecks(t.Context(), universe, []db.MatchOwner{m.owner}, 0, 100)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{accepted.ID, silent.ID}, done.ReturnedTickets)
	require.Equal(t, []string{declined.ID}, done.DeclinedTickets)
	require.Equal(t, "queued others_declined", m.state(accepted.ID))
	require.Equal(t, "queued others_declined", m.state(silent.ID))
	require.Equal(t, "declined not_accepted", m.state(declined.ID))
	require.Equal(t, created, one[int64](m.bundle, "SELECT created FROM tickets WHERE id = $1", accepted.ID))
	m.RequireInvariants()
}

// At the deadline a party with a silent player leaves the queue; a party that accepted returns to its place.
func TestAReadyCheckThatFails(t *testing.T) {
	t.Parallel()
	m := setupMatches(t)
	accepted, silent, half := m.queued("red", "ann"), m.queued("red", "bob", "cid"), m.queued("blue", "dan", "eve")
	created := one[int64](m.bundle, "SELECT created FROM tickets WHERE id = $1", accepted.ID)
	m.propose(matchOf(accepted, silent, half))
	m.answer(accepted, "ann", true)
	m.answer(half, "dan", true)

	done := m.judge(m.owner)
	require.Equal(t, []string{accepted.ID}, done.ReturnedTickets)
	require.ElementsMatch(t, []string{silent.ID, half.ID}, done.DeclinedTickets)
	require.Equal(t, "queued others_declined", m.state(accepted.ID))
	require.Equal(t, "declined not_accepted", m.state(silent.ID))
	require.Equal(t, []string{accepted.ID}, m.waiting(m.Store, match.Pool{}))
	require.Equal(t, created, one[int64](m.bundle, "SELECT created FROM tickets"))
	require.Equal(t, []string{"0|0|1|2|2"}, m.Rows(`SELECT (SELECT count(*) FROM matches), (SELECT count(*) FROM match_accepts), (SELECT count(*) FROM ticket_players),
		(SELECT count(*) FROM settled_tickets WHERE body IS NULL), (SELECT count(*) FROM ticket_history WHERE outcome = 'declined')`))
	_, err := m.AnswerReadyCheck(t.Context(), universe,
		db.ReadyCheckAnswer{TicketID: silent.ID, PlayerSub: "bob", Accept: true})
	requireKind(t, fault.Conflict, "too_late", err)
	accepted.Tx = one[uint64](m.bundle, "SELECT tx FROM tickets")
	m.requireCommitted(m.commit(matchOf(accepted, m.queued("blue", "fay")))[0])
	m.RequireInvariants()
}

// A player that accepted may still decline, and the decline is final.
func TestADeclineStands(t *testing.T) {
	t.Parallel()
	m := setupMatches(t)
	d := m.duel("ann", "bob")
	m.propose(d)
	m.answer(d.Tickets[0], "ann", true)
	require.False(t, *m.answer(d.Tickets[0], "ann", false).YouAccepted)
	_, err := m.AnswerReadyCheck(t.Context(), universe,
		db.ReadyCheckAnswer{TicketID: d.Tickets[0].ID, PlayerSub: "ann", Accept: true})
	requireKind(t, fault.Conflict, "too_late", err)
	done, err := m.JudgeReadyChecks(t.Context(), universe, []db.MatchOwner{m.owner}, 0, 100)
	require.NoError(t, err)
	require.Equal(t, []string{d.Tickets[1].ID}, done.ReturnedTickets)
	require.Equal(t, []string{d.Tickets[0].ID}, done.DeclinedTickets)
}

// Without an owner, any worker judges; an owner that lost its profile does not.
func TestWhoJudgesAReadyCheck(t *testing.T) {
	t.Parallel()
	m := setupMatches(t)
	d := m.duel("ann", "bob")
	m.propose(d)
	m.Exec("UPDATE matches SET deadline = now() - interval '1 second'")
	lost := m.owner
	lost.Epoch--
	_, err := m.JudgeReadyChecks(t.Context(), universe, []db.MatchOwner{lost}, 0, 100)
	requireKind(t, fault.Superseded, "profile_lost", err)
	early, err := m.JudgeReadyChecks(t.Context(), universe, nil, 5*time.Second, 100)
	require.NoError(t, err)
	require.Empty(t, early, "the owner has a while to do it")
	m.Exec("UPDATE matches SET deadline = now() - interval '6 seconds'")
	done, err := m.JudgeReadyChecks(t.Context(), universe, nil, 5*time.Second, 100)
	require.NoError(t, err)
	require.Len(t, done.DeclinedTickets, 2)
}

// A stranger learns nothing of a ticket.
func TestStrangersAnswerNothing(t *testing.T) {
	t.Parallel()
	m := setupMatches(t)
	d := m.duel("ann", "bob")
	_, err := m.AnswerReadyCheck(t.Context(), universe,
		db.ReadyCheckAnswer{TicketID: d.Tickets[0].ID, PlayerSub: "ann", Accept: true})
	requireKind(t, fault.Conflict, "too_late", err)
	m.propose(d)
	for _, ticket := range []string{d.Tickets[1].ID, "unknown"} {
		_, err = m.AnswerReadyCheck(t.Context(), universe,
			db.ReadyCheckAnswer{TicketID: ticket, PlayerSub: "ann", Accept: true})
		requireKind(t, fault.NotFound, "ticket_unknown", err)
	}
}

// An answer about an earlier match changes nothing of the present one.
func TestAnAnswerAboutAnotherMatch(t *testing.T) {
	t.Parallel()
	m := setupMatches(t)
	d := m.duel("ann", "bob")
	m.propose(d)
	for _, accept := range []bool{true, false} {
		answer := db.ReadyCheckAnswer{TicketID: d.Tickets[0].ID, PlayerSub: "ann", MatchID: uuid.New(), Accept: accept}
		_, err := m.AnswerReadyCheck(t.Context(), universe, answer)
		requireKind(t, fault.Conflict, "too_late", err)
	}
	require.Zero(t, one[int](m.bundle, "SELECT count(*) FROM match_accepts"))
	check, err := m.AnswerReadyCheck(t.Context(), universe,
		db.ReadyCheckAnswer{TicketID: d.Tickets[0].ID, PlayerSub: "ann", MatchID: d.ID, Accept: true})
	require.NoError(t, err)
	require.Equal(t, 1, check.AcceptedCount)
}

// An answer after the deadline is too late, although nobody has judged yet.
func TestAnAnswerAfterTheDeadline(t *testing.T) {
	t.Parallel()
	m := setupMatches(t)
	d := m.duel("ann", "bob")
	m.propose(d)
	m.Exec("UPDATE matches SET deadline = now()")
	_, err := m.AnswerReadyCheck(t.Context(), universe,
		db.ReadyCheckAnswer{TicketID: d.Tickets[0].ID, PlayerSub: "ann", Accept: true})
	requireKind(t, fault.Conflict, "too_late", err)
}

// A mark that somebody cleared ends the proposal: the other tickets are back at their place.
func TestAnAcceptedMatchThatLostATicket(t *testing.T) {
	t.Parallel()
	m := setupMatches(t)
	d := m.duel("ann", "bob")
	m.propose(d)
	m.answer(d.Tickets[0], "ann", true)
	m.answer(d.Tickets[1], "bob", true)
	require.NoError(t, m.DeleteTicket(t.Context(), universe, d.Tickets[0].ID))
	out := m.commitAccepted(d)
	require.Equal(t, db.MatchTicketsGone, out.Kind)
	require.Equal(t, []string{d.Tickets[0].ID}, out.GoneTickets)
	require.Equal(t, []string{d.Tickets[1].ID}, m.waiting(m.Store, match.Pool{}))
	require.Zero(t, one[int](m.bundle, "SELECT count(*) FROM matches"))
	m.RequireInvariants()
}

// Accepted matches that nobody commits or renews give their tickets back.
func TestAnAbandonedMatch(t *testing.T) {
	t.Parallel()
	m := setupMatches(t)
	d := m.duel("ann", "bob")
	m.propose(d)
	m.answer(d.Tickets[0], "ann", true)
	m.answer(d.Tickets[1], "bob", true)
	require.ElementsMatch(t, []string{d.Tickets[0].ID, d.Tickets[1].ID}, m.judge().ReturnedTickets)
	require.Len(t, m.waiting(m.Store, match.Pool{}), 2)
}

// Players are asked only while there is room for them.
func TestNobodyIsAskedWithoutAHost(t *testing.T) {
	t.Parallel()
	m := setupMatches(t)
	big, small, lobby := m.duel("ann", "bob"), m.duel("cid", "dan"), m.duel("eve", "fay")
	big.Size, lobby.Modes = 65, nil
	out, err := m.ProposeMatches(t.Context(), universe, []db.MatchOwner{m.owner}, []db.NewMatch{big, small, lobby},
		time.Minute)
	require.NoError(t, err)
	require.Equal(t, []db.MatchOutcomeKind{db.MatchNoHost, db.MatchProposed, db.MatchProposed},
		[]db.MatchOutcomeKind{out[0].Kind, out[1].Kind, out[2].Kind})
	require.Equal(t, "none", m.state(big.Tickets[0].ID))
}

// Answers, the deadline and a delete meet: the tickets end in one way.
func TestAReadyCheckIsDecidedOnce(t *testing.T) {
	t.Parallel()
	m := setupMatches(t)
	for range 20 {
		d := m.duel("ann", "bob")
		m.propose(d)
		m.answer(d.Tickets[0], "ann", true)
		m.Exec("UPDATE matches SET deadline = clock_timestamp() + interval '3 milliseconds' WHERE state = 'proposed'")
		var wait sync.WaitGroup
		var out db.MatchOutcome
		wait.Go(func() {
			if _, err := m.AnswerReadyCheck(t.Context(), universe,
				db.ReadyCheckAnswer{TicketID: d.Tickets[1].ID, PlayerSub: "bob", Accept: true}); err == nil {
				out = m.commitAccepted(d)
			}
		})
		wait.Go(func() {
			_, err := m.JudgeReadyChecks(t.Context(), universe, []db.MatchOwner{m.owner}, 0, 100)
			if err != nil {
				t.Error(err)
			}
		})
		wait.Wait()
		if out.Kind == db.MatchCommitted {
			m.report(db.SeatReport{InstanceRef: ref("a"), SessionID: out.SessionPlacement.SessionID, HasEnded: true})
		} else {
			m.judge()
		}
		m.RequireInvariants()
		m.Exec("DELETE FROM tickets")
		m.Exec("DELETE FROM ticket_players")
	}
}
