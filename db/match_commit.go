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
// committed and another not. The owners are those of all profiles of the matches; a worker that lost one of them
// commits nothing. It returns an outcome for each match. With an error, those that say [MatchPlayersBusy] are not
// decided. Errors: Superseded for a lost profile or lease; Unavailable, after which it is unknown whether undecided
// matches were committed.
func (s *Store) CommitMatches(ctx context.Context, universe, region string, share HostShare, owners []MatchOwner,
	matches []NewMatch,
	assign AssignMatch,
) ([]MatchOutcome, error) {
	c := &committer{store: s, universe: universe, region: region, hostShare: share, profileOwners: owners,
		assign: assign}
	calls := c.makeCalls(matches)
	var err error
	for _, batch := range matchBatches(calls) {
		if err = c.commitBatch(ctx, batch); err != nil {
			break
		}
	}
	// Also after an error: batches before it are committed.
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

// endpointsOf returns where players of committed matches were seated.
func endpointsOf(outcomes []MatchOutcome) (endpoints []string) {
	for _, o := range outcomes {
		if o.Kind == MatchCommitted {
			endpoints = append(endpoints, o.SessionPlacement.Endpoint)
		}
	}
	return endpoints
}

// waitsForHosts bounds how often a batch waits for hosts that other transactions hold. Each time it may find that these
// hosts are full now, while others have room.
const waitsForHosts = 3

// commitBatch decides matches first without waiting for hosts, on its share of them, which is enough for most; then it
// waits for all. Matches whose players must give seats up have a transaction each, so that they keep the seats when
// there is no host.
func (c *committer) commitBatch(ctx context.Context, calls []*matchCall) error {
	// takes where each match is likely to be committed: if one is not, the whole work is done again.
	alone, err := c.attempt(ctx, calls, matchTx{takesTickets: !slices.ContainsFunc(calls, (*matchCall).mayStay)})
	for n := 0; err == nil && n < waitsForHosts && isContended(calls, alone); n++ {
		// Those that must be alone hold nobody up here: each gets a transaction of its own below.
		_, err = c.attempt(ctx, slices.DeleteFunc(undecidedCalls(calls),
			func(m *matchCall) bool { return slices.Contains(alone, m) }), matchTx{waitForHosts: true})
	}
	for _, m := range alone {
		if err != nil {
			return err
		}
		_, err = c.attempt(ctx, []*matchCall{m}, matchTx{waitForHosts: true, mayGiveUpSeats: true})
	}
	return err
}

// isContended reports whether a match found no host although there may be one. Matches whose players are busy wait for
// them elsewhere.
func isContended(calls, alone []*matchCall) bool {
	return slices.ContainsFunc(undecidedCalls(calls),
		func(m *matchCall) bool { return len(m.matchOutcome.BusyPlayers) == 0 && !slices.Contains(alone, m) })
}

// matchTries is how often a transaction is tried that loses against another one.
const matchTries = 3

// attempt runs a transaction over undecided matches. After an error of the data it tries them by halves, until the bad
// match is alone. It returns the matches that must be alone.
func (c *committer) attempt(ctx context.Context, calls []*matchCall, how matchTx) (alone []*matchCall, err error) {
	for range matchTries {
		// A copy, since a transaction that is tried again must not see rows of the one before.
		t := how
		t.committer, t.calls, t.newSessions = c, calls, newOpening(c.region)
		err = t.try(ctx)
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
		// Other transactions hold the hosts for too long. The matches stay undecided, and their owner tries them again.
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

// try runs the transaction and, once it is committed, gives the matches their outcomes.
func (t *matchTx) try(ctx context.Context) error {
	verdicts := map[*matchCall]MatchOutcome{}
	err := t.committer.store.frame.InTx(ctx, func(q *query.Queries) error {
		t.q = q
		return t.run(ctx, verdicts)
	})
	if err != nil && t.isWritten && outcomeUnknown(err) {
		done, lost := t.wasCommitted(ctx)
		switch {
		case lost != nil:
			return lost
		case !done:
			return frame.ErrRolledBack
		}
		err, t.placeableIndexes = nil, allOf(t.unplacedMatches) // the answer is lost: try these again
	}
	if err != nil && !errors.Is(err, errKeepSeats) {
		return err
	}
	// After the commit, so that a process which wakes up finds the rows.
	t.committer.store.notifySenders(t.committer.region, t.commandSenders)
	t.lobbyRooms.announce(t.committer.store)
	t.answer(verdicts)
	return nil
}

func (t *matchTx) run(ctx context.Context, verdicts map[*matchCall]MatchOutcome) error {
	if err := t.lock(ctx); err != nil {
		return err
	}
	open := t.judge(verdicts)
	if t.proposeFor > 0 {
		return t.proposeAll(open)
	}
	c, open, err := t.sessionsAndHosts(ctx, open, verdicts)
	if err != nil {
		return err
	}
	t.place(c, open)
	if t.takesTickets && len(t.seatedMatches) < len(t.calls) {
		return errSomeStay
	}
	// Rolled back: the players keep the seats that they would have given up for a session that does not exist.
	if t.mayGiveUpSeats && len(t.unplacedMatches) > 0 {
		t.placeableIndexes, err = t.q.StillPlaceable(ctx, t.stillPlaceable())
		if err == nil {
			err = errKeepSeats
		}
		return err
	}
	return t.write()
}

// answer gives the matches their outcomes. Those that must be alone, and those that may find a host, stay undecided.
func (t *matchTx) answer(verdicts map[*matchCall]MatchOutcome) {
	for m, o := range verdicts {
		m.matchOutcome = o
		if o.Kind != MatchPlayersBusy {
			m.isDecided = true
		}
	}
	// As locked: the history has the times and bodies of the rows.
	free := t.freeTickets()
	for _, s := range t.seatedMatches {
		s.call.decide(MatchOutcome{Kind: MatchCommitted, SessionPlacement: s.placement, MatchID: s.playing(),
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
