package db

import (
	"context"
	"errors"
	"slices"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// CommitMatches commits matches, oldest first, whose tickets are of a universe and whose sessions are to be in one game
// region: sessions, seats, assignments and events of each match in one transaction. The history of their tickets is in
// the outcomes, and the caller writes it: see [Store.KeepTickets]. Matches share transactions, so that one match may be
// committed and another not. The owners are those of all profiles of the matches; a worker that has lost one of the
// profiles commits nothing. CommitMatches returns an outcome for each match. With an error, matches whose outcome is
// [MatchPlayersBusy] are not decided. Errors: Superseded for a lost profile or lease; Unavailable, after which it is
// unknown whether undecided matches were committed.
func (s *Store) CommitMatches(ctx context.Context, universe, region string, share HostShare, owners []MatchOwner,
	matches []NewMatch, assign AssignMatch) ([]MatchOutcome, error) {
	c := &committer{store: s, universe: universe, region: region, hostShare: share, profileOwners: owners,
		assign: assign}
	calls := c.makeCalls(matches)
	var err error
	for _, batch := range matchBatches(calls) {
		if err = c.commitBatch(ctx, batch); err != nil {
			break
		}
	}
	// Also after an error, since earlier batches are committed.
	outcomes := outcomesOf(calls)
	if slices.ContainsFunc(outcomes, func(o MatchOutcome) bool { return o.Kind == MatchCommitted }) {
		s.Notify(TopicTickets, universe)
		s.Notify(TopicTicketEvents, universe)
		if region != "" {
			s.Notify(TopicMatches, region)
			s.noticeBus.Notify(topicSessions, region, endpointsOf(outcomes)...)
		}
	}
	return outcomes, err
}

// endpointsOf returns the endpoints of the game servers of committed matches.
func endpointsOf(outcomes []MatchOutcome) (endpoints []string) {
	for _, o := range outcomes {
		if o.Kind == MatchCommitted {
			endpoints = append(endpoints, o.SessionPlacement.Endpoint)
		}
	}
	return endpoints
}

// maxHostWaits bounds how often a batch waits for hosts that other transactions have locked. Each time the batch may
// find that these hosts are full now, while others have room.
const maxHostWaits = 3

// commitBatch decides matches first without waiting for hosts, on the caller's share of the hosts, which is enough for
// most matches; then it waits for all hosts. Matches whose players must give seats up have a transaction each, so that
// the players keep the seats when there is no host.
func (c *committer) commitBatch(ctx context.Context, calls []*matchCall) error {
	// Tickets are taken without a lock only where each match is likely to be committed: if one is not, all of the
	// transaction is done again.
	takesTickets := !slices.ContainsFunc(calls, (*matchCall).mayStay)
	alone, err := c.attempt(ctx, calls, matchTx{takesTickets: takesTickets})
	if err != nil {
		return err
	}
	for n := 0; n < maxHostWaits && isContended(calls, alone); n++ {
		together := slices.DeleteFunc(undecidedCalls(calls),
			func(m *matchCall) bool { return slices.Contains(alone, m) })
		if _, err := c.attempt(ctx, together, matchTx{waitForHosts: true}); err != nil {
			return err
		}
	}
	for _, m := range alone {
		how := matchTx{waitForHosts: true, mayGiveUpSeats: true}
		if _, err := c.attempt(ctx, []*matchCall{m}, how); err != nil {
			return err
		}
	}
	return nil
}

// isContended reports whether a match found no host although there may be one. Matches with busy players do not count:
// waiting for hosts does not help them.
func isContended(calls, alone []*matchCall) bool {
	return slices.ContainsFunc(undecidedCalls(calls),
		func(m *matchCall) bool { return len(m.matchOutcome.BusyPlayers) == 0 && !slices.Contains(alone, m) })
}

// matchTries is how often a transaction is tried that loses against another one.
const matchTries = 3

// attempt runs a transaction over undecided matches, with the options of how. After an error of the data it tries
// halves of the matches, until the bad match is alone. It returns the matches that need a transaction of their own,
// since their players must give up seats.
func (c *committer) attempt(ctx context.Context, calls []*matchCall, how matchTx) (alone []*matchCall, err error) {
	for range matchTries {
		// Each try begins with a fresh copy, without rows of an earlier one.
		t := how
		t.committer, t.calls, t.newSessions = c, calls, newOpening(c.region)
		err = t.runAndAnswer(ctx)
		if err == nil {
			return t.mustBeAlone, nil
		}
		if !frame.IsConflict(err) {
			break
		}
	}
	switch {
	case errors.Is(err, errSomeStay):
		// One match must leave its tickets in the queue: now the tickets are locked first, and deleted for the matches
		// that are committed.
		how.takesTickets = false
		return c.attempt(ctx, calls, how)
	case frame.IsLockTimeout(err):
		// Other transactions lock the hosts for too long. The matches stay undecided, and their owner tries them again.
		return nil, nil
	case !frame.IsDataError(err):
		return nil, frame.Classify(err)
	case len(calls) == 1:
		calls[0].decide(MatchOutcome{Kind: MatchBad, Err: err})
		return nil, nil
	}
	half := len(calls) / 2
	// The capacity is bounded, so that nothing that is appended to the first half overwrites the second.
	first, err := c.attempt(ctx, calls[:half:half], how)
	if err != nil {
		return nil, err
	}
	second, err := c.attempt(ctx, calls[half:], how)
	return append(first, second...), err
}

// errSomeStay rolls back a transaction that has deleted the tickets of all its matches and cannot commit all of them.
var errSomeStay = errors.New("tickets of some matches stay in the queue")

// runAndAnswer runs the transaction and, once it is committed, gives the matches their outcomes.
func (t *matchTx) runAndAnswer(ctx context.Context) error {
	verdicts := map[*matchCall]MatchOutcome{}
	err := t.committer.store.frame.InTx(ctx, func(q *query.Queries) error {
		t.q = q
		return t.run(ctx, verdicts)
	})
	if err != nil && t.isWritten && outcomeUnknown(err) {
		isCommitted, lookErr := t.wasCommitted(ctx)
		if lookErr != nil {
			return lookErr
		}
		if !isCommitted {
			return frame.ErrRolledBack
		}
		err = nil
		// Which unplaced matches may find a host was lost with the answer: all of them stay undecided.
		t.placeableIndexes = indexesOf(t.unplacedMatches)
	}
	// After errKeepSeats, which has rolled the transaction back, the unplaced match gets its outcome too.
	if err != nil && !errors.Is(err, errKeepSeats) {
		return err
	}
	// After the commit, so that a process which wakes up finds the rows.
	t.committer.store.notifySenders(t.committer.region, t.commandSenders)
	t.lobbyRooms.wakeReplicas(t.committer.store)
	t.answer(verdicts)
	return nil
}

// run decides about the matches: in verdicts about those that are not committed, in the fields of t about the others.
func (t *matchTx) run(ctx context.Context, verdicts map[*matchCall]MatchOutcome) error {
	if err := t.lock(ctx); err != nil {
		return err
	}
	open := t.judge(verdicts)
	if t.proposeFor > 0 {
		return t.proposeAll(open)
	}
	if t.mayGiveUpSeats && len(open) > 0 {
		if err := t.giveSeatsUp(ctx, open); err != nil {
			return err
		}
	}
	open = t.judgeJoins(open, verdicts)
	t.place(t.hostCandidates(), open)
	if t.takesTickets && len(t.seatedMatches) < len(t.calls) {
		return errSomeStay
	}
	if t.mayGiveUpSeats && len(t.unplacedMatches) > 0 {
		var err error
		if t.placeableIndexes, err = t.q.StillPlaceable(ctx, t.stillPlaceableParams()); err != nil {
			return err
		}
		// Rolls back: the players keep the seats that they would have given up for a session that does not exist.
		return errKeepSeats
	}
	return t.write()
}

// answer gives the matches their outcomes. Matches that need a transaction of their own, matches with busy players and
// those that may find a host stay undecided.
func (t *matchTx) answer(verdicts map[*matchCall]MatchOutcome) {
	for m, o := range verdicts {
		m.matchOutcome = o
		if o.Kind != MatchPlayersBusy {
			m.isDecided = true
		}
	}
	free := t.freeTickets()
	for _, s := range t.seatedMatches {
		s.call.decide(MatchOutcome{Kind: MatchCommitted, SessionPlacement: s.placement, MatchID: s.playingMatchID(),
			LeftTickets: t.leftTickets(s, free)})
	}
	for _, m := range t.proposedMatches {
		m.decide(MatchOutcome{Kind: MatchProposed, MatchID: m.match.ID})
	}
	for i, m := range t.unplacedMatches {
		// Decided only if even a snapshot from after all writes shows no room.
		m.matchOutcome = MatchOutcome{}
		if !slices.Contains(t.placeableIndexes, int32(i)) {
			m.decide(MatchOutcome{Kind: MatchNoHost})
		}
	}
}
