package db_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/match"
)

// asks is a request of a player for a party, for profiles. Its body and hash depend on both.
func asks(caller string, party []string, profiles ...string) db.PlayerTicketRequest {
	party = slices.Sorted(slices.Values(party))
	return db.PlayerTicketRequest{
		Caller: caller, Party: party, ProfileNames: profiles, TTL: time.Hour, LeaseTTL: time.Minute,
		SearchFields: match.Fields{Doubles: map[string]float64{"skill": 5}, Tags: []string{"profile:duel"}},
		EncodeBody:   func(id string, _ time.Time) []byte { return []byte("body of " + id) },
		RequestHash:  fmt.Append(nil, party, profiles),
	}
}

// queues creates a ticket.
func (b *bundle) queues(r db.PlayerTicketRequest) string {
	b.t.Helper()
	a := must.Get(b.CreatePlayerTicket(b.t.Context(), universe, r))(b.t)
	require.True(b.t, a.IsNew)
	return a.ID
}

// sees reads a ticket as a player.
func (b *bundle) sees(sub, id string) db.PlayerTicket {
	b.t.Helper()
	return must.Get(b.SeePlayerTicket(b.t.Context(), universe, id, sub))(b.t)
}

// Pins a party that waits twice because two of its members pressed the button, and a stranger who reads a ticket.
func TestAPartyQueuesOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	request := asks("ada", []string{"ada", "bo"}, "duel", "race")
	id := b.queues(request)
	for _, caller := range []string{"ada", "bo"} {
		request.Caller = caller
		again, err := b.CreatePlayerTicket(t.Context(), universe, request)
		require.NoError(t, err)
		require.Equal(t, db.PlayerTicketAnswer{ID: id}, again)
	}
	seen := b.sees("ada", id)
	require.Equal(t, db.TicketQueued, seen.State)
	require.Equal(t, 1, seen.StateVersion)
	require.Equal(t, []string{"ada", "bo"}, seen.Party)
	require.Equal(t, []string{"duel", "race"}, seen.ProfileNames)
	require.Equal(t, time.Minute, seen.LeaseTTL)
	require.Equal(t, "body of "+id, string(seen.Body))
	_, err := b.SeePlayerTicket(t.Context(), universe, id, "eve")
	require.Empty(t, requireCode(t, fault.NotFound, "ticket_unknown", err).TicketID)

	_, err = b.CreatePlayerTicket(t.Context(), universe, asks("ada", []string{"ada"}, "race"))
	require.Equal(t, id, requireCode(t, fault.Conflict, "ticket_exists", err).TicketID)
	_, err = b.CreatePlayerTicket(t.Context(), universe, asks("cy", []string{"cy", "bo"}, "race"))
	require.Empty(t, requireCode(t, fault.Conflict, "party_conflict", err).TicketID)
	b.queues(asks("ada", []string{"ada"}, "solo")) // another profile
}

// A member that was taken along may leave for a ticket of its own until it has joined the party's.
func TestAMemberQueuesElsewhere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.queues(asks("ada", []string{"ada", "bo"}, "duel"))
	own := b.queues(asks("bo", []string{"bo"}, "duel"))
	left := b.sees("ada", first)
	require.Equal(t, db.TicketCancelled, left.State)
	require.Equal(t, "member_queued_elsewhere", left.FinalReason)
	require.Equal(t, 2, left.StateVersion)

	second := b.queues(asks("ada", []string{"ada", "cy"}, "duel"))
	b.sees("cy", second)
	_, err := b.CreatePlayerTicket(t.Context(), universe, asks("cy", []string{"cy"}, "duel"))
	require.Equal(t, second, requireCode(t, fault.Conflict, "party_conflict", err).TicketID)
	require.Equal(t, db.TicketQueued, b.sees("bo", own).State)
	require.Equal(t, []string{"cancelled", "queued", "queued"},
		storetest.Values[string](b.DB, "SELECT state FROM ticket_events WHERE state <> 'queued' OR ticket_id <> $1 ORDER BY 1", first))
}

// Pins two tickets of one party, made at two replicas at the same moment.
func TestTwoMembersPostAtTwoReplicas(t *testing.T) {
	t.Parallel()
	b := setup(t)
	stores := []*db.Store{b.Store, b.Replica()}
	for i := range 30 {
		party := []string{fmt.Sprint("ada", i), fmt.Sprint("bo", i)}
		var ids [2]string
		var posting sync.WaitGroup
		for n, store := range stores {
			posting.Go(func() {
				a, err := store.CreatePlayerTicket(t.Context(), universe, asks(party[n], party, "duel", "race"))
				if err == nil {
					ids[n] = a.ID
				}
			})
		}
		posting.Wait()
		require.NotEmpty(t, ids[0])
		require.Equal(t, ids[0], ids[1])
	}
	require.Equal(t, 30, one[int](b, "SELECT count(*) FROM tickets"))
	require.Equal(t, 120, one[int](b, "SELECT count(*) FROM ticket_players"))
}

// Pins a player who is told that the ticket is cancelled, and is matched.
func TestCancelOrAssign(t *testing.T) {
	t.Parallel()
	b := setup(t)
	other := b.Replica()
	for i := range 30 {
		sub := fmt.Sprint("ada", i)
		id := b.queues(asks(sub, []string{sub}, "duel"))
		var missing []string
		var racing sync.WaitGroup
		racing.Go(func() {
			missing, _ = other.AssignTickets(t.Context(), universe,
				db.Assignments{Groups: []db.Assignment{{TicketIDs: []string{id}, EncodedAssignment: []byte("a")}}, AllOrNone: true})
		})
		_, err := b.CancelPlayerTicket(t.Context(), universe, id, sub)
		require.NoError(t, err)
		racing.Wait()
		state := b.sees(sub, id).State
		if len(missing) > 0 {
			require.Equal(t, db.TicketCancelled, state)
		} else {
			require.Equal(t, db.TicketAssigned, state)
		}
		_, err = b.CancelPlayerTicket(t.Context(), universe, id, sub)
		require.NoError(t, err, "again: the same")
		require.Equal(t, state, b.sees(sub, id).State)
	}
	id := b.queues(asks("ada", []string{"ada"}, "duel"))
	_, err := b.CancelPlayerTicket(t.Context(), universe, id, "eve")
	require.NoError(t, err)
	require.Equal(t, db.TicketQueued, b.sees("ada", id).State, "a stranger cancels nothing")
}

// What clients of Open Match do with a player's ticket is what its players see, before and after it is recorded.
func TestClientsOfOpenMatchTakeAPlayersTicket(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *db.Config) {
		c.DescribeTicket = func(_ []byte, party []string) db.TicketFacts {
			return db.TicketFacts{Party: []string{fmt.Sprint(len(party), " players")}, Attributes: []byte(`{"ada":{}}`)}
		}
	})
	assigned, deleted := b.queues(asks("ada", []string{"ada"}, "duel")), b.queues(asks("bo", []string{"bo", "cy"},
		"duel"))
	b.Exec("UPDATE tickets SET pending_at = now(), matched_in = '0123456789abcdefmatch' WHERE id = $1", assigned)
	require.Equal(t, db.TicketMatched, b.sees("ada", assigned).State)
	_, err := b.CancelPlayerTicket(t.Context(), universe, assigned, "ada")
	require.Empty(t, requireCode(t, fault.Conflict, "matched", err).TicketID)
	_, err = b.AssignTickets(t.Context(), universe,
		db.Assignments{Groups: []db.Assignment{{TicketIDs: []string{assigned}, EncodedAssignment: []byte("there")}}, AllOrNone: true})
	require.NoError(t, err)
	require.NoError(t, b.DeleteTicket(t.Context(), universe, deleted))
	look := func() {
		t.Helper()
		one, two := b.sees("ada", assigned), b.sees("cy", deleted)
		require.Equal(t, db.TicketAssigned, one.State)
		require.Equal(t, "there", string(one.EncodedAssignment))
		require.Equal(t, db.TicketCancelled, two.State)
		require.Equal(t, "deleted", two.FinalReason)
		require.Equal(t, []int{2, 2}, []int{one.StateVersion, two.StateVersion})
	}
	look()
	n, err := b.RecordLostTickets(t.Context(), universe, 10)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	look()
	n, err = b.RecordLostTickets(t.Context(), universe, 10)
	require.NoError(t, err)
	require.Zero(t, n)
	require.Zero(t, one[int](b, "SELECT count(*) FROM ticket_players"))
	require.Equal(t, []string{`assigned {"1 players"}`, `cancelled {"2 players"}`}, storetest.Values[string](b.DB, "SELECT outcome || ' ' || party::text FROM ticket_history ORDER BY 1"))
	b.queues(asks("bo", []string{"bo"}, "duel"))
	b.Exec("UPDATE ticket_events SET at = at - interval '20 minutes'")
	_, err = b.SeePlayerTicket(t.Context(), universe, assigned, "ada")
	require.True(t, fault.Is(err, fault.NotFound) || fault.Is(err, fault.Gone), "%v", err)
}

// A row whose ticket was deleted, and not recorded yet, keeps nobody out of the queue.
func TestAStaleRowIsReplaced(t *testing.T) {
	t.Parallel()
	b := setup(t)
	old := b.queues(asks("ada", []string{"ada", "bo"}, "duel"))
	require.NoError(t, b.DeleteTicket(t.Context(), universe, old))
	id := b.queues(asks("bo", []string{"ada", "bo"}, "duel"))
	require.Equal(t, []string{id, id}, storetest.Values[string](b.DB, "SELECT ticket_id FROM ticket_players"))
}

// Pins an expired ticket that stays, since its sweep lost against another transaction.
func TestASweepThatLosesIsRepeated(t *testing.T) {
	t.Parallel()
	b := setup(t)
	over := b.queues(asks("bo", []string{"bo"}, "duel"))
	b.Exec("UPDATE tickets SET expires_at = now() - interval '1 second', ends_at = now() - interval '1 second'")
	b.Exec("CREATE SEQUENCE sweeps")
	b.Exec(`CREATE FUNCTION lose_once() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF nextval('sweeps') = 1 THEN RAISE deadlock_detected; END IF;
		RETURN OLD;
	END $$`)
	b.Exec("CREATE TRIGGER lose_once BEFORE DELETE ON tickets FOR EACH ROW EXECUTE FUNCTION lose_once()")
	require.Equal(t, 1, must.Get(b.SweepTickets(t.Context(), universe, 10))(t))
	require.Equal(t, db.TicketExpired, b.sees("bo", over).State)
}

// Pins players who lose their place because the director was down, and tickets that stay after their players have left.
func TestLeases(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.queues(asks("ada", []string{"ada"}, "duel"))
	over := b.queues(asks("bo", []string{"bo"}, "duel"))
	b.Exec("UPDATE tickets SET expires_at = now() - interval '1 second', ends_at = CASE WHEN id = $1 THEN now() - interval '1 second' ELSE ends_at END", over)
	n, err := b.SweepTickets(t.Context(), universe, 10)
	require.NoError(t, err)
	require.Equal(t, 1, n, "no replica has served for a whole lease: only the time in the queue counts")
	require.Equal(t, "ttl", b.sees("bo", over).FinalReason)
	require.Equal(t, db.TicketExpired, b.sees("bo", over).State)
	before := one[string](b, "SELECT tx::text FROM tickets")
	require.NoError(t, b.KeepAlive(t.Context(), universe, []string{id}))
	require.True(t, one[bool](b, "SELECT expires_at > now() + interval '30 seconds' FROM tickets"))
	require.NotEqual(t, before, one[string](b, "SELECT tx::text FROM tickets"), "it is a candidate again")
	require.Equal(t, db.TicketQueued, b.sees("ada", id).State)
	b.Exec("UPDATE tickets SET ends_at = now() + interval '5 seconds'")
	require.NoError(t, b.KeepAlive(t.Context(), universe, []string{id}))
	require.True(t, one[bool](b, "SELECT expires_at = ends_at FROM tickets"), "no lease outlasts the time in the queue")

	b.Exec("UPDATE tickets SET expires_at = now() - interval '1 second'")
	b.EndAmnesty()
	n, err = b.SweepTickets(t.Context(), universe, 10)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, "client_gone", b.sees("ada", id).FinalReason)
}

// Pins a player who polls and is thrown out as client_gone. A poll soon after another one writes nothing, and a
// stranger renews nothing.
func TestReadingKeepsATicketAlive(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.queues(asks("ada", []string{"ada", "bo"}, "duel"))
	b.sees("bo", id)
	left := func() time.Duration { return one[time.Duration](b, "SELECT expires_at - now() FROM tickets") }
	row := one[string](b, "SELECT ctid::text FROM tickets")
	b.sees("ada", id)
	require.Equal(t, row, one[string](b, "SELECT ctid::text FROM tickets"), "its lease is new")
	for _, sub := range []string{"ada", "bo"} {
		b.Exec("UPDATE tickets SET expires_at = now() + interval '35 seconds'")
		b.sees(sub, id)
		require.Greater(t, left(), 50*time.Second)
	}
	b.Exec("UPDATE tickets SET expires_at = now() + interval '35 seconds'")
	_, err := b.SeePlayerTicket(t.Context(), universe, id, "eve")
	require.Empty(t, requireCode(t, fault.NotFound, "ticket_unknown", err).TicketID)
	require.Less(t, left(), 36*time.Second)
	_, err = b.AnyTicket(t.Context(), universe, id)
	require.NoError(t, err)
	require.Less(t, left(), 36*time.Second, "an operator looks at it")
	b.Exec("UPDATE tickets SET ends_at = now() + interval '10 seconds', expires_at = now() + interval '10 seconds'")
	row = one[string](b, "SELECT ctid::text FROM tickets")
	b.sees("ada", id)
	require.Equal(t, row, one[string](b, "SELECT ctid::text FROM tickets"), "no lease outlasts the time in the queue")
}

func TestPause(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.queues(asks("ada", []string{"ada"}, "duel"))
	require.NoError(t, b.PauseTickets(t.Context(), universe, []string{id}))
	require.Equal(t, db.TicketPaused, b.sees("ada", id).State)
	n, err := b.CountTickets(t.Context(), universe, match.Pool{})
	require.NoError(t, err)
	require.Zero(t, n, "no match function finds it")
	require.NoError(t, b.PauseTickets(t.Context(), universe, []string{id}))
	require.NoError(t, b.ResumeTickets(t.Context(), universe, []string{id}))
	seen := b.sees("ada", id)
	require.Equal(t, db.TicketQueued, seen.State)
	require.Equal(t, 3, seen.StateVersion)
	events, err := b.TicketEvents(t.Context(), universe, id, 1)
	require.NoError(t, err)
	require.Equal(t, []db.TicketState{db.TicketPaused, db.TicketQueued},
		[]db.TicketState{events[0].State, events[1].State})
}

func TestAPlayerWaitsWithSixteenTickets(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range 16 {
		b.queues(asks("ada", []string{"ada", fmt.Sprint("bo", i)}, fmt.Sprint("p", i)))
	}
	_, err := b.CreatePlayerTicket(t.Context(), universe, asks("ada", []string{"ada"}, "one-more"))
	require.True(t, fault.Is(err, fault.TooMany), "%v", err)
	_, err = b.CreatePlayerTicket(t.Context(), universe, asks("cy", []string{"cy", "ada"}, "one-more"))
	require.True(t, fault.Is(err, fault.TooMany), "%v", err)
	b.queues(asks("bo1", []string{"bo1"}, "one-more"))
}

// Pins a retry after a lost answer that queues a party again which has been matched meanwhile.
func TestAnIdempotencyKeyOutlivesTheTicket(t *testing.T) {
	t.Parallel()
	b := setup(t)
	request := asks("ada", []string{"ada"}, "duel")
	request.IdempotencyKey = "k"
	id := b.queues(request)
	_, err := b.CancelPlayerTicket(t.Context(), universe, id, "ada")
	require.NoError(t, err)
	again, err := b.CreatePlayerTicket(t.Context(), universe, request)
	require.NoError(t, err)
	require.Equal(t, db.PlayerTicketAnswer{ID: id}, again)
	request.RequestHash = []byte("another")
	_, err = b.CreatePlayerTicket(t.Context(), universe, request)
	require.True(t, fault.Is(err, fault.Mismatch), "%v", err)
}

// A ticket that nothing is asked of any more does not keep its players.
func TestRetiredProfiles(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Exec("INSERT INTO profiles (region, name, live, retired_at) VALUES ('global', 'old', 1, now()), ('global', 'duel', 1, NULL)")
	only, both := b.queues(asks("ada", []string{"ada"}, "old")), b.queues(asks("bo", []string{"bo"}, "duel", "old"))
	n, err := b.CancelRetired(t.Context(), universe, 10)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, "profile_retired", b.sees("ada", only).FinalReason)
	require.Equal(t, db.TicketQueued, b.sees("bo", both).State)
}

// What a ready check shows to each of its players.
func TestAReadyCheckAsItsPlayersSeeIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id, m := b.queues(asks("ada", []string{"ada", "bo"}, "duel")), uuid.New()
	b.Exec("UPDATE tickets SET pending_at = now(), matched_in = 'loop'::bytea || $2, version = 2 WHERE id = $1", id,
		m[:])
	b.Exec("INSERT INTO ticket_events (region, ticket_id, n, state, match_id) VALUES ('global', $1, 2, 'accepting', $2)",
		id, m)
	b.Exec(`INSERT INTO matches (region, id, universe, profile, version, state, deadline, roster, tickets, decision)
		VALUES ('global', $1, 'global', 'duel', 1, 'proposed', now() + interval '20 seconds', '[{"sub":"ada"},{"sub":"bo"},{"sub":"cy"}]', ARRAY[$2], '{}')`, m, id)
	b.Exec("INSERT INTO match_accepts (region, match_id, sub, accepted) VALUES ('global', $1, 'bo', true)", m)
	seen := b.sees("bo", id)
	require.Equal(t, db.TicketAccepting, seen.State)
	require.Equal(t, m.String(), seen.MatchID)
	require.Equal(t, []any{3, 1, true}, []any{seen.ReadyCheck.PlayerCount, seen.ReadyCheck.AcceptedCount,
		seen.ReadyCheck.YouAccepted})
	require.False(t, b.sees("ada", id).ReadyCheck.YouAccepted)
	declines, err := b.CancelPlayerTicket(t.Context(), universe, id, "ada")
	require.NoError(t, err)
	require.Equal(t, m, declines)
	b.Exec("UPDATE matches SET state = 'accepted'")
	declines, err = b.CancelPlayerTicket(t.Context(), universe, id, "ada")
	require.NoError(t, err)
	require.Zero(t, declines)
	require.Equal(t, db.TicketCancelled, b.sees("bo", id).State,
		"a match that waits for a server ends when a ticket leaves")
}
