package db

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/match"
)

// AcceptedMatch is a match that the evaluator of a cycle accepted, and that is not committed yet.
type AcceptedMatch struct {
	ID        string
	TicketIDs []string
	Backfill  *MatchBackfill // nil: it has none

	// CallerID and ProposalSeq name the proposal when another replica waits for the verdict; ProposalSeq is 0 when none
	// does.
	CallerID    uuid.UUID
	ProposalSeq int32
}

// FinalMatch is the committed verdict on an accepted match.
type FinalMatch struct {
	Verdict         match.Verdict
	CreatedBackfill *Backfill // the backfill that was created for the match; nil: none was
}

// BackfillFunc returns the contents of a match's backfill after the match, from the backfill that the match function
// sent. old is the stored backfill, nil when one is to be created. An error drops the match.
type BackfillFunc func(sent []byte, old *Backfill) (NewBackfill, error)

// AcceptMatches decides which accepted matches are kept, in the order in which they were accepted, and marks the
// tickets of the kept ones as pending. Its decision is committed when it returns without an error; no match may be
// delivered before. Ticket ids that this region has not issued are not checked. fill may be called more than once.
// Errors: Superseded when the replica no longer owns the cycle; Unavailable, after which the tickets may be pending or
// not.
func (s *Store) AcceptMatches(ctx context.Context, ref CycleRef, matches []AcceptedMatch,
	fill BackfillFunc) ([]FinalMatch, error) {
	var err error
	for range frame.MaxConflictRetries {
		a := s.newAcceptance(ref, matches, fill)
		err = a.commit(ctx)
		if err == nil {
			a.notifyCallers()
			return a.finalMatches, nil
		}
		// LockCycle found no row: another replica has taken the cycle over, or it has ended.
		if errors.Is(err, pgx.ErrNoRows) {
			return nil, cycleLost()
		}
		if !frame.IsConflict(err) {
			return nil, frame.Classify(err)
		}
	}
	return nil, fault.NewUnavailable("no decision about the matches", err)
}

// acceptance is one transaction that decides about matches.
type acceptance struct {
	store           *Store
	cycleRef        CycleRef
	acceptedMatches []AcceptedMatch
	backfillFunc    BackfillFunc

	ownTickets     [][]string // by the index of the match: its tickets that this region has issued
	backfillsByID  map[string]Backfill
	liveBackfills  map[string]int64   // generations of the backfills that have not expired
	presentCallers map[uuid.UUID]bool // callers of other replicas that are in the cycle

	isDecided        bool
	finalMatches     []FinalMatch // by the index of the match
	pendingMarks     query.MarkPendingParams
	changedBackfills map[string]Backfill // as they are after the commit: see findCommit
}

func (s *Store) newAcceptance(ref CycleRef, matches []AcceptedMatch, fill BackfillFunc) *acceptance {
	a := &acceptance{
		store: s, cycleRef: ref, acceptedMatches: matches, backfillFunc: fill, backfillsByID: map[string]Backfill{},
		liveBackfills: map[string]int64{}, presentCallers: map[uuid.UUID]bool{},
		finalMatches: make([]FinalMatch, len(matches)), changedBackfills: map[string]Backfill{},
		pendingMarks: query.MarkPendingParams{Region: ref.Region},
	}
	for _, m := range matches {
		issued := issuedTickets(ref.Region, m.TicketIDs)
		slices.Sort(issued)
		a.ownTickets = append(a.ownTickets, slices.Compact(issued))
	}
	return a
}

// commit runs the transaction. When the connection breaks at COMMIT, the tickets may be pending by this very decision:
// a second one would find them taken, and would drop the matches. So commit finds out whether the decision was
// committed. Errors: frame.ErrRolledBack if it was not and never will be, so that it is safe to decide again; those of
// run.
func (a *acceptance) commit(ctx context.Context) error {
	timeouts := a.store.cfg.transactionHold().AcceptanceTimeouts()
	err := a.store.frame.InTxWithin(ctx, timeouts, func(q *query.Queries) error { return a.run(ctx, q) })
	if err == nil || !a.isDecided || !outcomeUnknown(err) {
		return err
	}
	committed, err := a.wasCommitted(ctx)
	if err != nil {
		return err
	}
	if !committed {
		return frame.ErrRolledBack
	}
	return nil
}

// run locks the cycle, the backfills and the tickets, decides, and defers its writes to the commit.
func (a *acceptance) run(ctx context.Context, q *query.Queries) error {
	free, err := a.lock(ctx, q)
	if err != nil {
		return err
	}
	a.judge(free)
	out := q.Deferred()
	associate := query.AssociateTicketsParams{Region: a.cycleRef.Region}
	for i, m := range a.acceptedMatches {
		if a.finalMatches[i].Verdict != match.Kept {
			continue
		}
		id := a.fillBackfill(out, i)
		// fillBackfill drops a match whose backfill cannot be decoded. Its tickets stay free.
		if a.finalMatches[i].Verdict != match.Kept {
			continue
		}
		for _, t := range a.ownTickets[i] {
			a.pendingMarks.Ids = append(a.pendingMarks.Ids, t)
			a.pendingMarks.MatchedIn = append(a.pendingMarks.MatchedIn, a.cycleRef.Mark(m.ID))
			if id != "" {
				associate.Tickets = append(associate.Tickets, t)
				associate.Backfills = append(associate.Backfills, id)
			}
		}
	}
	a.write(out, associate)
	a.isDecided = true
	return nil
}

// lock locks the cycle, so that no other replica takes it over, then backfills and tickets, and returns the free
// tickets.
func (a *acceptance) lock(ctx context.Context, q *query.Queries) (free map[string]bool, err error) {
	var p tx.Pipeline
	var state string
	var backfills []query.LockBackfillsRow
	var ids []string
	var callers []query.CallersOfCycleRow
	query.Queue(&p, &state, (*query.Queries).LockCycle,
		query.LockCycleParams{Region: a.cycleRef.Region, ID: a.cycleRef.ID, Replica: a.cycleRef.ReplicaID})
	if wanted := a.wantedBackfills(); len(wanted) > 0 {
		query.Queue(&p, &backfills, (*query.Queries).LockBackfills,
			query.LockBackfillsParams{Region: a.cycleRef.Region, Ids: wanted,
				AckedFor: a.store.cfg.Timing.backfillTTL()})
	}
	if wanted := a.wantedTickets(); len(wanted) > 0 {
		query.Queue(&p, &ids, (*query.Queries).LockFreeTickets,
			query.LockFreeTicketsParams{Region: a.cycleRef.Region, Ids: wanted,
				PendingFor: a.store.cfg.Timing.PendingFor})
	}
	// A caller that leaves from now on waits for the lock of the cycle, so that the callers stay until the commit.
	if a.awaitedElsewhere() {
		query.Queue(&p, &callers, (*query.Queries).CallersOfCycle,
			query.CallersOfCycleParams{Region: a.cycleRef.Region, Cycle: a.cycleRef.ID, Lease: a.cycleRef.LeaseTTL})
	}
	if err := q.Send(ctx, &p); err != nil {
		return nil, err
	}
	for _, c := range callers {
		a.presentCallers[c.ID] = true
	}
	for _, b := range backfills {
		a.backfillsByID[b.ID] = storedBackfill(b.ID, b.Body, b.Generation, b.Created)
		if b.Alive {
			a.liveBackfills[b.ID] = b.Generation
		}
	}
	return setOf(ids), nil
}

func (a *acceptance) wantedTickets() []string {
	ids := slices.Concat(a.ownTickets...)
	slices.Sort(ids)
	return slices.Compact(ids)
}

func (a *acceptance) wantedBackfills() (ids []string) {
	for _, m := range a.acceptedMatches {
		if m.Backfill != nil && IssuedHere(a.cycleRef.Region, BackfillID, m.Backfill.ID) {
			ids = append(ids, m.Backfill.ID)
		}
	}
	return ids
}

// judge gives each match its verdict.
func (a *acceptance) judge(free map[string]bool) {
	var claims []match.Claim
	var matchOfClaim []int // by the index of the claim: the index of its match
	for i, m := range a.acceptedMatches {
		if m.ProposalSeq > 0 && !a.presentCallers[m.CallerID] {
			// A caller that left gets no answer, so its match would keep tickets for nobody.
			a.finalMatches[i].Verdict = match.CallerGone
			continue
		}
		c := match.Claim{Tickets: a.ownTickets[i]}
		if m.Backfill != nil {
			c.Backfill, c.Generation = m.Backfill.ID, m.Backfill.Generation
		}
		claims = append(claims, c)
		matchOfClaim = append(matchOfClaim, i)
	}
	for n, verdict := range match.Keep(claims, func(id string) bool { return free[id] }, a.liveBackfills) {
		a.finalMatches[matchOfClaim[n]].Verdict = verdict
	}
}

// fillBackfill creates or changes the backfill of a match and returns its id, or drops the match when the backfill
// cannot be decoded.
func (a *acceptance) fillBackfill(out *tx.Pipeline, i int) (id string) {
	b := a.acceptedMatches[i].Backfill
	if b == nil {
		return ""
	}
	var old *Backfill
	// An existing backfill. judge has made sure that it is live, and as the match function saw it.
	if b.ID != "" {
		stored := a.backfillsByID[b.ID]
		old = &stored
	}
	contents, err := a.backfillFunc(b.Body, old)
	if err != nil {
		a.finalMatches[i].Verdict = match.BackfillUnreadable
		return ""
	}
	if old == nil {
		created, p := a.store.draftBackfill(a.cycleRef.Region, contents)
		query.QueueExec(out, (*query.Queries).CreateBackfills, p)
		a.finalMatches[i].CreatedBackfill = &created
		a.changedBackfills[created.ID] = created
		return created.ID
	}
	row, body := contents.encode(old.ID, old.CreatedAt)
	query.QueueExec(out, (*query.Queries).PutBackfill, query.PutBackfillParams{
		Region: a.cycleRef.Region, ID: old.ID, Terms: row.Terms, DoubleKeys: row.Keys, Doubles: row.Doubles, Body: body,
	})
	a.changedBackfills[old.ID] = Backfill{ID: old.ID, Body: body, Generation: old.Generation + 1}
	return old.ID
}

// write defers the statements that store marks, associations and verdicts, and one that renews the lease, since writing
// the marks may take long.
func (a *acceptance) write(out *tx.Pipeline, associate query.AssociateTicketsParams) {
	if len(a.pendingMarks.Ids) > 0 {
		query.QueueExec(out, (*query.Queries).MarkPending, a.pendingMarks)
	}
	if len(associate.Tickets) > 0 {
		query.QueueExec(out, (*query.Queries).AssociateTickets, associate)
	}
	verdicts := query.StoreVerdictsParams{Region: a.cycleRef.Region, Cycle: a.cycleRef.ID}
	for i, m := range a.acceptedMatches {
		if m.ProposalSeq == 0 {
			continue
		}
		var id string
		var created int64
		if b := a.finalMatches[i].CreatedBackfill; b != nil {
			id, created = b.ID, b.CreatedAt.UnixNano()
		}
		verdicts.Callers = append(verdicts.Callers, m.CallerID)
		verdicts.Seqs = append(verdicts.Seqs, m.ProposalSeq)
		verdicts.Accepted = append(verdicts.Accepted, a.finalMatches[i].Verdict == match.Kept)
		verdicts.CreatedBackfills = append(verdicts.CreatedBackfills, id)
		verdicts.BackfillsCreated = append(verdicts.BackfillsCreated, created)
	}
	if len(verdicts.Seqs) > 0 {
		query.QueueExec(out, (*query.Queries).StoreVerdicts, verdicts)
	}
	// The number of rows does not matter: the lock of LockCycle has kept every other replica from taking over.
	var renewed int64
	query.Queue(out, &renewed, (*query.Queries).RenewCycle,
		query.RenewCycleParams{Region: a.cycleRef.Region, ID: a.cycleRef.ID, Replica: a.cycleRef.ReplicaID,
			Lease: a.cycleRef.LeaseTTL})
}

// awaitedElsewhere reports whether callers of other replicas wait for the verdicts.
func (a *acceptance) awaitedElsewhere() bool {
	return slices.ContainsFunc(a.acceptedMatches, func(m AcceptedMatch) bool { return m.ProposalSeq > 0 })
}

// notifyCallers wakes the replicas whose callers wait for verdicts.
func (a *acceptance) notifyCallers() {
	if a.awaitedElsewhere() {
		a.store.Notify(TopicCycle, a.cycleRef.Region)
	}
}
