package db

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
)

// ProposeMatches asks the players of matches whether they accept: their tickets are in no other match until the ready
// check ends, within a time of up to ten seconds less than Timing.PendingFor. No seats are reserved meanwhile; a match
// is proposed only while a host in one of its regions has room. Owners and errors are as for [Store.CommitMatches]; the
// outcomes are [MatchProposed], [MatchNoHost], [MatchTicketsGone], [MatchBad] and, undecided, [MatchPlayersBusy].
func (s *Store) ProposeMatches(ctx context.Context, universe string, owners []MatchOwner, matches []NewMatch,
	within time.Duration) ([]MatchOutcome, error) {
	c := &committer{store: s, universe: universe, profileOwners: owners}
	calls := c.makeCalls(matches)
	if err := c.decideWithoutHost(ctx, calls); err != nil {
		return outcomesOf(calls), err
	}
	for _, batch := range matchBatches(calls) {
		if _, err := c.attempt(ctx, batch, matchTx{proposeFor: within}); err != nil {
			return outcomesOf(calls), err
		}
	}
	return outcomesOf(calls), nil
}

// decideWithoutHost decides that matches for which no region shows room have no host. It asks each region once.
func (c *committer) decideWithoutHost(ctx context.Context, calls []*matchCall) error {
	var regions []string
	// A match without modes needs no host, and one that joins a session has its host already.
	unplaced := slices.DeleteFunc(undecidedCalls(calls),
		func(m *matchCall) bool { return len(m.match.Modes) == 0 || m.match.Join != "" })
	for _, m := range unplaced {
		for _, r := range m.match.Regions {
			if !slices.Contains(regions, r) {
				regions = append(regions, r)
			}
		}
	}
	placeable := map[*matchCall]bool{}
	for _, region := range regions {
		t := matchTx{committer: &committer{store: c.store, region: region}}
		// Matches for which another region has room are not asked for again.
		t.unplacedMatches = slices.DeleteFunc(slices.Clone(unplaced),
			func(m *matchCall) bool { return placeable[m] || !slices.Contains(m.match.Regions, region) })
		rows, err := c.store.q.StillPlaceable(ctx, t.stillPlaceableParams())
		if err != nil {
			return frame.Classify(err)
		}
		for _, i := range rows {
			placeable[t.unplacedMatches[i]] = true
		}
	}
	for _, m := range unplaced {
		if !placeable[m] {
			m.decide(MatchOutcome{Kind: MatchNoHost})
		}
	}
	return nil
}

// OpenReadyCheck is a match whose players are asked, or have accepted.
type OpenReadyCheck struct {
	Match    NewMatch  // Accepted is true once all players have accepted
	Deadline time.Time // of the ready check; after all have accepted, when the tickets may get into other matches
}

// OpenReadyChecks returns the matches of a profile that are proposed or accepted, for a worker that takes the profile
// over. Errors: Unavailable.
func (s *Store) OpenReadyChecks(ctx context.Context, universe, profile string) (all []OpenReadyCheck, err error) {
	const page = 100 // matches, each with a decision of several KiB
	arg := query.OpenProposalsParams{Universe: universe, Profile: profile, Page: page}
	for {
		rows, err := s.q.OpenProposals(ctx, arg)
		if err != nil {
			return nil, frame.Classify(err)
		}
		for _, r := range rows {
			check := OpenReadyCheck{Deadline: r.Deadline}
			if err := json.Unmarshal(r.Decision, &check.Match); err != nil {
				return nil, err
			}
			check.Match.Accepted = r.State == "accepted"
			all = append(all, check)
		}
		// A short page is the last one.
		if len(rows) < page {
			return all, nil
		}
		arg.After = rows[len(rows)-1].ID
	}
}

// RenewAccepted keeps the tickets of accepted matches, which wait for a server, out of other matches for another
// Timing.PendingFor. It returns the matches whose acceptance has ended. Owners and errors are as for
// [Store.CommitMatches].
func (s *Store) RenewAccepted(ctx context.Context, universe string, owners []MatchOwner,
	matches []NewMatch) (ended []uuid.UUID, err error) {
	c := &committer{store: s, universe: universe, profileOwners: owners}
	for _, batch := range matchBatches(c.makeCalls(matches)) {
		t := matchTx{committer: c, calls: batch}
		var gone []uuid.UUID
		err := s.frame.InTx(ctx, func(q *query.Queries) (err error) {
			t.q = q
			gone, err = t.renew(ctx)
			return err
		})
		if err != nil {
			return ended, frame.Classify(err)
		}
		ended = append(ended, gone...)
	}
	return ended, nil
}

// renew locks the tickets of accepted matches and renews their marks. It returns the matches that have ended.
func (t *matchTx) renew(ctx context.Context) (ended []uuid.UUID, err error) {
	fence, err := t.fenceParams()
	if err != nil {
		return nil, err
	}
	var out tx.Pipeline
	var profiles []string
	var marked []query.LockMarkedTicketsRow
	var renewed []uuid.UUID
	tickets := t.ticketsOf(t.calls)
	accepted := query.RenewAcceptedParams{Universe: t.committer.universe, Hold: t.committer.store.cfg.Timing.PendingFor}
	for _, m := range t.calls {
		accepted.Ids = append(accepted.Ids, m.match.ID)
	}
	query.Queue(&out, &profiles, (*query.Queries).HoldProfiles, fence)
	query.Queue(&out, &marked, (*query.Queries).LockMarkedTickets,
		query.LockMarkedTicketsParams{Universe: tickets.Universe, Ids: tickets.Ids, Marks: tickets.Marks})
	query.Queue(&out, &renewed, (*query.Queries).RenewAccepted, accepted)
	if err := t.q.Send(ctx, &out); err != nil {
		return nil, err
	}
	// Another worker owns one of the profiles: nothing is renewed for it.
	if len(profiles) < len(fence.Profiles) {
		return nil, profileLost()
	}
	marks := query.RenewMarksParams{Universe: t.committer.universe}
	// Tickets that have left their match are not among the locked ones.
	for _, k := range marked {
		marks.Ids = append(marks.Ids, k.ID)
	}
	query.QueueExec(t.q.Deferred(), (*query.Queries).RenewMarks, marks)
	return slices.DeleteFunc(accepted.Ids, func(id uuid.UUID) bool { return slices.Contains(renewed, id) }), nil
}
