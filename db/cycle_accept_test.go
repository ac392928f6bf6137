package db_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
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

// cycle opens a cycle on behalf of a replica.
func (b *bundle) cycle() db.CycleRef {
	b.t.Helper()
	replica := uuid.New()
	c, joined, err := b.JoinCycle(b.t.Context(), universe, replica, []uuid.UUID{uuid.New()},
		db.NewCycle{CollectionTime: time.Hour, LeaseTTL: time.Minute})
	require.NoError(b.t, err)
	require.True(b.t, joined)
	require.Equal(b.t, replica, c.Owner)
	return db.CycleRef{Region: universe, ID: c.ID, ReplicaID: replica, LeaseTTL: time.Minute}
}

func (b *bundle) accept(ref db.CycleRef, matches ...db.AcceptedMatch) (verdicts []string, final []db.FinalMatch) {
	b.t.Helper()
	final = must.Get(b.AcceptMatches(b.t.Context(), ref, matches, readBackfill))(b.t)
	for _, f := range final {
		verdicts = append(verdicts, f.Verdict.String())
	}
	return verdicts, final
}

// readBackfill has texts as backfills; a change appends to the old text.
func readBackfill(sent []byte, old *db.Backfill) (db.NewBackfill, error) {
	if string(sent) == "bad" {
		return db.NewBackfill{}, errors.New("unreadable")
	}
	text := string(sent)
	if old != nil {
		text = string(old.Body[bytes.LastIndexByte(old.Body, ' ')+1:]) + "+" + text
	}
	return backfillOf(match.Fields{Tags: []string{text}}, text), nil
}

func (b *bundle) tickets(n int) (ids []string) {
	for range n {
		ids = append(ids, b.ticket(ticketOf(match.Fields{}, "")).ID)
	}
	return ids
}

func acceptedOf(id string, tickets ...string) db.AcceptedMatch {
	return db.AcceptedMatch{ID: id, TicketIDs: tickets}
}

// Pins a dropped match whose tickets are pending.
func TestAcceptanceTakesAllTicketsOfAMatchOrNone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.tickets(4)
	b.mark(ids[3], 0)
	ref := b.cycle()
	verdicts, _ := b.accept(ref, acceptedOf("1", ids[0], ids[3]),
		acceptedOf("2", ids[0], ids[1], ids[1], "never", "\x00"), acceptedOf("3", ids[1], ids[2]), acceptedOf("4"))
	require.Equal(t, []string{"ticket_gone", "kept", "ticket_gone", "kept"}, verdicts)
	require.Equal(t, ids[2:3], b.waiting(b.Store, match.Pool{}))
	require.Equal(t, append(ref.ID[:], '2'), one[[]byte](b, "SELECT matched_in FROM tickets WHERE id = $1", ids[0]))
	verdicts, _ = b.accept(ref, acceptedOf("2", ids[0], ids[1]))
	require.Equal(t, []string{"ticket_gone"}, verdicts, "it is pending already")
}

// Pins a backfill that takes a match which was made for an older generation.
func TestAcceptanceFillsBackfills(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	ids := b.tickets(9)
	there, expired := b.backfill(match.Fields{}), b.backfill(match.Fields{})
	b.ageBackfill(expired.ID, 48*time.Second)
	deleted := b.backfill(match.Fields{})
	require.NoError(t, b.DeleteBackfill(ctx, universe, deleted.ID))
	b.matchInto(deleted.ID, ids[0]) // a match whose time has passed
	b.mark(ids[0], time.Minute)

	with := func(m db.AcceptedMatch, id string, generation int64, body string) db.AcceptedMatch {
		m.Backfill = &db.MatchBackfill{ID: id, Generation: generation, Body: []byte(body)}
		return m
	}
	verdicts, final := b.accept(
		b.cycle(),
		with(acceptedOf("created", ids[0], ids[1], "never"), "", 0, "new"),
		with(acceptedOf("filled", ids[2]), there.ID, 1, "more"),
		with(acceptedOf("filled twice", ids[3]), there.ID, 1, "more"),
		with(acceptedOf("expired", ids[4]), expired.ID, 1, "more"),
		with(acceptedOf("deleted", ids[5]), deleted.ID, 1, "more"),
		with(acceptedOf("never issued", ids[6]), "\x00", 1, "more"),
		with(acceptedOf("bad", ids[7]), "", 0, "bad"),
	)
	require.Equal(t, []string{"kept", "kept", "backfill_changed", "backfill_gone", "backfill_gone", "backfill_gone",
		"backfill_unreadable"}, verdicts)
	require.Len(t, b.waiting(b.Store, match.Pool{}), 6, "tickets of dropped matches stay free")

	created := final[0].CreatedBackfill
	got, err := b.GetBackfill(ctx, universe, created.ID)
	require.NoError(t, err)
	require.Equal(t, *created, got)
	require.Equal(t, int64(1), got.Generation)
	require.ElementsMatch(t, ids[:2], b.associated(created.ID),
		"the first one is no longer associated with the deleted backfill")
	require.Equal(t, []string{created.ID}, b.backfillsIn(match.Pool{Tags: []string{"new"}}))

	got, err = b.GetBackfill(ctx, universe, there.ID)
	require.NoError(t, err)
	require.Equal(t, int64(2), got.Generation)
	require.Equal(t, there.CreatedAt, got.CreatedAt)
	require.True(t, strings.HasSuffix(string(got.Body), "first+more"))
	require.Equal(t, ids[2:3], b.associated(there.ID))
	require.Equal(t, []string{there.ID}, b.backfillsIn(match.Pool{Tags: []string{"first+more"}}))
	_, tickets, err := b.AcknowledgeBackfill(ctx, universe, there.ID, []byte("here"))
	require.NoError(t, err)
	require.Len(t, tickets, 1)
}

// Pins verdicts that other replicas never read.
func TestOtherReplicasReadVerdicts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	ids := b.tickets(2)
	ref := b.cycle()
	other := db.CycleRef{Region: universe, ID: ref.ID, ReplicaID: uuid.New(), LeaseTTL: time.Minute}
	caller := uuid.New()
	b.Exec("INSERT INTO match_callers (region, cycle, id, replica) VALUES ($1, $2, $3, $4)", universe, ref.ID, caller,
		other.ReplicaID)
	sent := []db.CycleProposal{
		{CallerID: caller, Seq: 1, MatchID: "1\x00", Score: 2.5, TicketIDs: []string{ids[0], "\x00", ""},
			Backfill: &db.MatchBackfill{Generation: -3, Body: []byte("new")}, EncodedMatch: []byte("m")},
		{CallerID: caller, Seq: 2, MatchID: "2", TicketIDs: []string{ids[0], ids[1]}},
	}
	for range 2 { // the second time as after a lost answer
		collecting, err := b.Propose(ctx, other, sent, []uuid.UUID{caller})
		require.NoError(t, err)
		require.True(t, collecting)
	}
	changes, err := b.ReadCycleChanges(ctx, ref, nil)
	require.NoError(t, err)
	require.Equal(t, sent, changes.Proposals)
	require.Len(t, changes.Callers, 2)
	changes, err = b.ReadCycleChanges(ctx, ref, map[uuid.UUID]int32{caller: 1})
	require.NoError(t, err)
	require.Equal(t, sent[1:], changes.Proposals)

	var matches []db.AcceptedMatch
	for _, p := range sent {
		matches = append(matches, db.AcceptedMatch{ID: p.MatchID, TicketIDs: p.TicketIDs, Backfill: p.Backfill,
			CallerID: p.CallerID, ProposalSeq: p.Seq})
	}
	_, final := b.accept(ref, matches...)
	status, err := b.FollowCycle(ctx, other, []uuid.UUID{caller})
	require.NoError(t, err)
	created := final[0].CreatedBackfill
	require.Equal(t, db.CycleStatus{
		Exists: true, State: db.CycleCollecting, DecidedProposals: []db.DecidedProposal{
			{CallerID: caller, Seq: 1, IsCommitted: true, CreatedBackfill: created.ID,
				BackfillCreated: created.CreatedAt}, {CallerID: caller, Seq: 2},
		},
	}, status)

	_, err = b.AdvanceCycle(ctx, ref, db.CycleEvaluating, nil)
	require.NoError(t, err)
	collecting, err := b.Propose(ctx, other, sent, nil)
	require.NoError(t, err)
	require.False(t, collecting)
	require.NoError(t, b.EndCycle(ctx, ref, "no\x00luck\xff"))
	status, err = b.FollowCycle(ctx, other, nil)
	require.NoError(t, err)
	require.Equal(t, "noluck\uFFFD", status.FailureText)
	requireKind(t, fault.Superseded, "cycle_lost", b.EndCycle(ctx, ref, ""))
	requireKind(t, fault.Superseded, "cycle_lost", b.RenewCycle(ctx, ref))
	_, err = b.AcceptMatches(ctx, ref, nil, readBackfill)
	requireKind(t, fault.Superseded, "cycle_lost", err)
	b.Exec("UPDATE match_cycles SET ended_at = ended_at - interval '31 seconds'")
	n, err := b.ForgetCycles(ctx, universe)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Zero(t, one[int](b, "SELECT (SELECT count(*) FROM match_callers) + (SELECT count(*) FROM match_proposals)"))
}

// Under concurrency: each ticket is in one kept match at most, and a cancelled ticket is in none.
func TestAcceptancesAndOtherCallsAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx, ref := t.Context(), b.cycle()
	ids := b.tickets(200)
	var mu sync.Mutex
	in, out := map[string]string{}, map[string]bool{}
	var wait sync.WaitGroup
	for n := range 4 {
		wait.Go(func() {
			for k := range 40 {
				i := (n*53 + k*7) % len(ids)
				id := fmt.Sprintf("%d %d", n, k)
				final, err := b.AcceptMatches(ctx, ref,
					[]db.AcceptedMatch{acceptedOf(id, ids[i], ids[(i+3)%len(ids)]),
						acceptedOf(id+"b", ids[(i+5)%len(ids)])}, readBackfill)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for j, tickets := range [][]string{{ids[i], ids[(i+3)%len(ids)]}, {ids[(i+5)%len(ids)]}} {
					for _, ticket := range tickets {
						if final[j].Verdict == match.Kept {
							if in[ticket] != "" {
								t.Errorf("%s is in %s and %s", ticket, in[ticket], id)
							}
							in[ticket] = id
						}
					}
				}
				mu.Unlock()
			}
		})
		wait.Go(func() {
			for k := range 40 {
				id := ids[(n*31+k*11)%len(ids)]
				gone := false
				if k%2 == 0 {
					c, err := b.CancelTicket(ctx, universe, id)
					gone = err == nil && c.IsCancelled
				} else if _, err := b.AssignTickets(ctx, universe,
					db.Assignments{Groups: []db.Assignment{{TicketIDs: []string{id}, EncodedAssignment: []byte("x")}}, AllOrNone: true}); err != nil {
					t.Error(err)
				}
				mu.Lock()
				out[id] = out[id] || gone
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	require.NotEmpty(t, in)
	for id := range in {
		require.False(t, out[id], "%s was cancelled and is in a match", id)
	}
}

// associated returns the tickets that are associated with a backfill.
func (b *bundle) associated(backfill string) []string {
	return b.Rows("SELECT ticket_id FROM backfill_tickets WHERE backfill_id = $1 ORDER BY ticket_id", backfill)
}
