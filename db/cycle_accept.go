package db

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/match"
)

// AcceptedMatch is a match that the evaluator of a cycle accepted, on its way to become final.
type AcceptedMatch struct {
	ID       string
	Tickets  []string
	Backfill *MatchBackfill // nil: it has none

	// Caller and Seq name the proposal when another replica waits for the verdict; Seq is 0 when none does.
	Caller uuid.UUID
	Seq    int32
}

// FinalMatch is the final verdict on an accepted match.
type FinalMatch struct {
	Verdict match.Verdict
	Created *Backfill // the backfill that was created for it; nil: none was
}

// ReadBackfill returns the backfill that a match leaves behind, from what the match function sent. old is nil for
// one that is to be created. An error drops the match.
type ReadBackfill func(sent []byte, old *Backfill) (NewBackfill, error)

// AcceptMatches decides about matches, in the order in which they were accepted, and marks the tickets of those that are
// kept as pending. When it returns without an error this is committed, on behalf of the cycle that the replica runs. No
// match may be sent before. Ids of tickets that were never issued are accepted as they are. read may be called more than
// once. Errors: Superseded when the replica no longer runs the cycle; Unavailable, after which it is unknown whether
// the tickets are pending.
func (s *Store) AcceptMatches(ctx context.Context, ref CycleRef, matches []AcceptedMatch, read ReadBackfill) ([]FinalMatch, error) {
	var err error
	for range maxConflictRetries {
		a := s.newAcceptance(ref, matches, read)
		if err = s.inTxWithin(ctx, s.cfg.acceptanceTimeouts(), func(q *Queries) error { return a.run(ctx, q) }); err != nil && a.decided && outcomeUnknown(err) {
			var done bool
			if done, err = a.happened(ctx); done {
				err = nil
			} else if err == nil {
				continue
			}
		}
		switch {
		case err == nil:
			a.notifyCallers()
			return a.final, nil
		case errors.Is(err, pgx.ErrNoRows):
			return nil, cycleLost()
		case !isConflict(err):
			return nil, classify(err)
		}
	}
	return nil, unavailable("no decision about the matches", err)
}

// outcomeUnknown reports that a transaction that failed at its end may have been committed. It was not committed when COMMIT
// returned that it rolled back, nor when Postgres ended it because it was idle: COMMIT had not arrived by then.
func outcomeUnknown(err error) bool {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return !errors.Is(err, pgx.ErrTxCommitRollback)
	}
	return pg.Code == "25P04" || strings.HasPrefix(pg.Code, "57") || strings.HasPrefix(pg.Code, "08")
}

// acceptance is one transaction that decides about matches.
type acceptance struct {
	*Store
	ref     CycleRef
	matches []AcceptedMatch
	read    ReadBackfill

	tickets   [][]string // of each match, those that were issued here
	backfills map[string]Backfill
	alive     map[string]int64 // generations of those backfills that may be filled
	present   map[uuid.UUID]bool

	decided bool
	final   []FinalMatch
	marks   MarkPendingParams
	filled  map[string]Backfill // backfills, as they are afterwards
}

func (s *Store) newAcceptance(ref CycleRef, matches []AcceptedMatch, read ReadBackfill) *acceptance {
	a := &acceptance{
		Store: s, ref: ref, matches: matches, read: read, backfills: map[string]Backfill{}, alive: map[string]int64{}, present: map[uuid.UUID]bool{},
		final: make([]FinalMatch, len(matches)), filled: map[string]Backfill{}, marks: MarkPendingParams{Region: ref.Region},
	}
	for _, m := range matches {
		ours := issuedTickets(ref.Region, m.Tickets)
		slices.Sort(ours)
		a.tickets = append(a.tickets, slices.Compact(ours))
	}
	return a
}

// run locks the cycle, the backfills and the tickets, decides, and defers its writes to the commit.
func (a *acceptance) run(ctx context.Context, q *Queries) error {
	free, err := a.lock(ctx, q)
	if err != nil {
		return err
	}
	claims, of := a.claims()
	for n, v := range match.Keep(claims, func(id string) bool { return free[id] }, a.alive) {
		a.final[of[n]].Verdict = v
	}
	out := q.deferred()
	associate := AssociateParams{Region: a.ref.Region}
	for i, m := range a.matches {
		if a.final[i].Verdict != match.Kept {
			continue
		}
		id := a.fill(out, i)
		if a.final[i].Verdict != match.Kept {
			continue
		}
		for _, t := range a.tickets[i] {
			a.marks.Ids, a.marks.MatchedIn = append(a.marks.Ids, t), append(a.marks.MatchedIn, a.mark(m))
			if id != "" {
				associate.Tickets, associate.Backfills = append(associate.Tickets, t), append(associate.Backfills, id)
			}
		}
	}
	a.write(out, associate)
	a.decided = true
	return nil
}

// lock locks the cycle, so that no other replica takes it over, then backfills and tickets, and returns the free tickets.
func (a *acceptance) lock(ctx context.Context, q *Queries) (free map[string]bool, err error) {
	var p tx.Pipeline
	var state string
	var backfills []LockBackfillsRow
	var ids []string
	var callers []CallersOfRow
	queue(&p, &state, (*Queries).HoldCycle, HoldCycleParams{Region: a.ref.Region, ID: a.ref.ID, Replica: a.ref.Replica})
	if wanted := a.wantedBackfills(); len(wanted) > 0 {
		queue(&p, &backfills, (*Queries).LockBackfills, LockBackfillsParams{Region: a.ref.Region, Ids: wanted, AckedFor: a.cfg.Timing.backfillFor()})
	}
	if wanted := a.wantedTickets(); len(wanted) > 0 {
		queue(&p, &ids, (*Queries).FreeTickets, FreeTicketsParams{Region: a.ref.Region, Ids: wanted, PendingFor: a.cfg.Timing.PendingFor})
	}
	if a.awaitedElsewhere() { // callers that leave from now on block on the lock of the cycle
		queue(&p, &callers, (*Queries).CallersOf, CallersOfParams{Region: a.ref.Region, Cycle: a.ref.ID, Lease: a.ref.Lease})
	}
	if err := q.send(ctx, &p); err != nil {
		return nil, err
	}
	for _, c := range callers {
		a.present[c.ID] = true
	}
	for _, b := range backfills {
		a.backfills[b.ID] = storedBackfill(b.ID, b.Body, b.Generation, b.Created)
		if b.Alive {
			a.alive[b.ID] = b.Generation
		}
	}
	return setOf(ids), nil
}

func (a *acceptance) wantedTickets() []string {
	ids := slices.Concat(a.tickets...)
	slices.Sort(ids)
	return slices.Compact(ids)
}

func (a *acceptance) wantedBackfills() (ids []string) {
	for _, m := range a.matches {
		if m.Backfill != nil && IssuedHere(a.ref.Region, BackfillID, m.Backfill.ID) {
			ids = append(ids, m.Backfill.ID)
		}
	}
	return ids
}

// claims returns the matches that still have a caller, each with the index of its match.
func (a *acceptance) claims() (claims []match.Claim, of []int) {
	for i, m := range a.matches {
		if m.Seq > 0 && !a.present[m.Caller] {
			a.final[i].Verdict = match.CallerGone
			continue
		}
		c := match.Claim{Tickets: a.tickets[i]}
		if m.Backfill != nil {
			c.Backfill, c.Generation = m.Backfill.ID, m.Backfill.Generation
		}
		claims, of = append(claims, c), append(of, i)
	}
	return claims, of
}

// mark is what a ticket stores of its match: with the cycle, since match functions may name matches of two cycles alike.
func (a *acceptance) mark(m AcceptedMatch) []byte { return append(a.ref.ID[:], m.ID...) }

// fill creates or changes the backfill of a match and returns its id, or drops the match when the backfill cannot be decoded.
func (a *acceptance) fill(out *tx.Pipeline, i int) (id string) {
	b := a.matches[i].Backfill
	if b == nil {
		return ""
	}
	var old *Backfill
	if b.ID != "" {
		there := a.backfills[b.ID]
		old = &there
	}
	says, err := a.read(b.Body, old)
	if err != nil {
		a.final[i].Verdict = match.BackfillUnreadable
		return ""
	}
	if old == nil {
		created, p := a.draftBackfill(a.ref.Region, says)
		queueExec(out, (*Queries).CreateBackfills, p)
		a.final[i].Created, a.filled[created.ID] = &created, created
		return created.ID
	}
	row, body := says.row(old.ID, old.Created)
	queueExec(out, (*Queries).PutBackfill, PutBackfillParams{
		Region: a.ref.Region, ID: old.ID, Terms: row.Terms, DoubleKeys: row.Keys, Doubles: row.Doubles, Body: body,
	})
	a.filled[old.ID] = Backfill{ID: old.ID, Body: body, Generation: old.Generation + 1}
	return old.ID
}

// write defers marks, associations and verdicts. It also renews the lease, since writing the marks may take long.
func (a *acceptance) write(out *tx.Pipeline, associate AssociateParams) {
	if len(a.marks.Ids) > 0 {
		queueExec(out, (*Queries).MarkPending, a.marks)
	}
	if len(associate.Tickets) > 0 {
		queueExec(out, (*Queries).Associate, associate)
	}
	judge := JudgeParams{Region: a.ref.Region, Cycle: a.ref.ID}
	for i, m := range a.matches {
		if m.Seq == 0 {
			continue
		}
		var id string
		var created int64
		if b := a.final[i].Created; b != nil {
			id, created = b.ID, b.Created.UnixNano()
		}
		judge.Callers, judge.Seqs = append(judge.Callers, m.Caller), append(judge.Seqs, m.Seq)
		judge.Accepted = append(judge.Accepted, a.final[i].Verdict == match.Kept)
		judge.CreatedBackfills, judge.BackfillsCreated = append(judge.CreatedBackfills, id), append(judge.BackfillsCreated, created)
	}
	if len(judge.Seqs) > 0 {
		queueExec(out, (*Queries).Judge, judge)
	}
	var renewed int64
	queue(out, &renewed, (*Queries).RenewCycle, RenewCycleParams{Region: a.ref.Region, ID: a.ref.ID, Replica: a.ref.Replica, Lease: a.ref.Lease})
}

// happened finds out whether the decision was committed, all of it or nothing. It waits for the lost transaction, which keeps
// its lock on the cycle until it ends. When no trace of the decision is left, it is safe to decide again.
func (a *acceptance) happened(ctx context.Context) (done bool, err error) {
	// Postgres ends the lost transaction by the hold timeout.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.cfg.HoldTimeout+time.Second)
	defer cancel()
	for {
		done, err = a.witness(ctx)
		if err == nil || ctx.Err() != nil {
			return done, err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

func (a *acceptance) witness(ctx context.Context) (done bool, err error) {
	if err := a.q.AwaitAcceptance(ctx, AwaitAcceptanceParams{Region: a.ref.Region, ID: a.ref.ID}); err != nil {
		return false, err
	}
	if len(a.marks.Ids) > 0 {
		rows, err := a.q.MarkedIn(ctx, MarkedInParams{Region: a.ref.Region, Ids: a.marks.Ids})
		if err != nil {
			return false, err
		}
		marked := make(map[string]string, len(rows))
		for _, r := range rows {
			marked[r.ID] = string(r.MatchedIn)
		}
		for i, id := range a.marks.Ids {
			if marked[id] == string(a.marks.MatchedIn[i]) {
				return true, nil
			}
		}
	}
	ids := make([]string, 0, len(a.filled))
	for id := range a.filled {
		ids = append(ids, id)
	}
	rows, err := a.q.LockBackfills(ctx, LockBackfillsParams{Region: a.ref.Region, Ids: ids, AckedFor: a.cfg.Timing.backfillFor()})
	for _, r := range rows {
		done = done || a.shows(r)
	}
	return done, err
}

// shows reports whether a backfill proves that this decision was committed. A created backfill does. An existing one may have
// reached the same generation by another change, so it proves nothing when there are tickets, whose marks do.
func (a *acceptance) shows(r LockBackfillsRow) bool {
	f := a.filled[r.ID]
	return f.Generation == 1 || len(a.marks.Ids) == 0 && r.Generation == f.Generation && bytes.Equal(r.Body, f.Body)
}

// awaitedElsewhere reports whether callers of other replicas wait for the verdicts.
func (a *acceptance) awaitedElsewhere() bool {
	return slices.ContainsFunc(a.matches, func(m AcceptedMatch) bool { return m.Seq > 0 })
}

// notifyCallers wakes the replicas whose callers wait.
func (a *acceptance) notifyCallers() {
	if a.awaitedElsewhere() {
		a.Notify(TopicCycle, a.ref.Region)
	}
}
