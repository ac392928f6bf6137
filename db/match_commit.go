package db

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// AssignMatch returns the assignment of a match's tickets, an openmatch.Assignment. The placement is zero for a match
// without seats. It may be called more than once for a match.
type AssignMatch func(m *NewMatch, p Placement) []byte

// HostShare is the part of a region's game servers on which a caller opens sessions first, so that callers with
// different shares do not wait for each other: every Lanes-th, beginning with Lane. The zero value is all of them. A
// match that finds no room in the share looks for it on all game servers.
type HostShare struct{ Lane, Lanes int }

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
	c := &committer{Store: s, universe: universe, region: region, share: share, owners: owners, assign: assign}
	calls := c.calls(matches)
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
			s.bus.Notify(topicSessions, region, endpointsOf(outcomes)...)
		}
	}
	return outcomes, err
}

// endpointsOf returns where players of committed matches were seated.
func endpointsOf(outcomes []MatchOutcome) (endpoints []string) {
	for _, o := range outcomes {
		if o.Kind == MatchCommitted {
			endpoints = append(endpoints, o.Session.Endpoint)
		}
	}
	return endpoints
}

// committer commits or proposes matches of a universe.
type committer struct {
	*Store
	universe, region string
	share            HostShare
	owners           []MatchOwner
	assign           AssignMatch
}

// matchCall is a match on its way through transactions, until it has an outcome.
type matchCall struct {
	*NewMatch
	subs      []string
	roster    []byte // JSON
	out       MatchOutcome
	isDecided bool
}

func (c *matchCall) decide(o MatchOutcome) { c.out, c.isDecided = o, true }

// calls makes the calls of matches. One whose roster cannot be encoded is decided at once.
func (c *committer) calls(matches []NewMatch) []*matchCall {
	calls := make([]*matchCall, len(matches))
	for i := range matches {
		m := &matches[i]
		calls[i] = &matchCall{NewMatch: m, subs: m.players()}
		var err error
		if calls[i].roster, err = rosterOf(m.Tickets); err != nil {
			calls[i].decide(MatchOutcome{Kind: MatchBad, Err: err})
		}
	}
	return calls
}

func outcomesOf(calls []*matchCall) []MatchOutcome {
	outcomes := make([]MatchOutcome, len(calls))
	for i, c := range calls {
		outcomes[i] = c.out
	}
	return outcomes
}

// matchBatches cuts undecided matches into batches of one transaction.
func matchBatches(calls []*matchCall) (batches [][]*matchCall) {
	players, bytes := 0, 0
	for _, c := range undecided(calls) {
		players, bytes = players+len(c.subs), bytes+c.bytes()
		last := len(batches) - 1
		if last < 0 || len(batches[last]) == maxBatchMatches || players > maxBatchPlayers || bytes > maxBatchBytes {
			batches, players, bytes = append(batches, nil), len(c.subs), c.bytes()
			last++
		}
		batches[last] = append(batches[last], c)
	}
	return batches
}

func undecided(calls []*matchCall) (left []*matchCall) {
	for _, c := range calls {
		if !c.isDecided {
			left = append(left, c)
		}
	}
	return left
}

// waitsForHosts bounds how often a batch waits for hosts that other transactions hold. Each time it may find that these
// hosts are full now, while others have room.
const waitsForHosts = 3

// commitBatch decides matches first without waiting for hosts, on its share of them, which is enough for most; then it
// waits for all. Matches whose players must give seats up have a transaction each, so that they keep the seats when
// there is no host.
func (c *committer) commitBatch(ctx context.Context, calls []*matchCall) error {
	// takes where each match is likely to be committed: if one is not, the whole work is done again.
	alone, err := c.attempt(ctx, calls, matchTx{takes: !slices.ContainsFunc(calls, (*matchCall).mayStay)})
	for n := 0; err == nil && n < waitsForHosts && contended(calls, alone); n++ {
		// Those that must be alone hold nobody up here: each gets a transaction of its own below.
		_, err = c.attempt(ctx, slices.DeleteFunc(undecided(calls),
			func(m *matchCall) bool { return slices.Contains(alone, m) }), matchTx{wait: true})
	}
	for _, m := range alone {
		if err != nil {
			return err
		}
		_, err = c.attempt(ctx, []*matchCall{m}, matchTx{wait: true, mayGiveUpSeats: true})
	}
	return err
}

// contended reports whether a match found no host although there may be one. Matches whose players are busy wait for
// them elsewhere.
func contended(calls, alone []*matchCall) bool {
	return slices.ContainsFunc(undecided(calls),
		func(m *matchCall) bool { return len(m.out.BusyPlayers) == 0 && !slices.Contains(alone, m) })
}

// matchTries is how often a transaction is tried that loses against another one.
const matchTries = 3

// attempt runs a transaction over undecided matches. After an error of the data it tries them by halves, until the bad
// match is alone. It returns the matches that must be alone.
func (c *committer) attempt(ctx context.Context, calls []*matchCall, how matchTx) (alone []*matchCall, err error) {
	for range matchTries {
		// A copy, since a transaction that is tried again must not see rows of the one before.
		t := how
		t.committer, t.calls, t.sessions = c, calls, newOpening(c.region)
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
		how.takes = false
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

// mayStay reports whether a match is likely not to be committed: it waited for a server before.
func (c *matchCall) mayStay() bool { return c.Demand != DemandKey{} }

// matchTx is one transaction over matches. The zero value, with matches, waits for no host and gives no seat up.
type matchTx struct {
	*committer
	calls []*matchCall
	// deletes the tickets instead of locking them first, which is half the work; it commits all matches or none
	takes          bool
	wait           bool // for hosts that other transactions hold
	mayGiveUpSeats bool // players may give up seats
	// propose is how long the players are asked; 0 commits the matches.
	propose time.Duration

	q           *query.Queries
	locks       matchLocks
	mustBeAlone []*matchCall
	seated      []seatedMatch // to be committed, oldest first
	ended       []*matchCall  // accepted matches that lost a ticket
	unplaced    []*matchCall
	joinable    map[string]*joinedMatch // by session
	sessions    opening
	senders     []uuid.UUID // see opening
	placeable   []int32     // the part of unplaced for which a snapshot from after the writes shows free capacity
	proposed    []*matchCall
	rooms       *matchRooms // nil: no session of the realtime lobby waits with a ticket of these matches
	written     bool
}

// try runs the transaction and, once it is committed, gives the matches their outcomes.
func (t *matchTx) try(ctx context.Context) error {
	verdicts := map[*matchCall]MatchOutcome{}
	err := t.frame.InTx(ctx, func(q *query.Queries) error {
		t.q = q
		return t.run(ctx, verdicts)
	})
	if err != nil && t.written && outcomeUnknown(err) {
		done, lost := t.happened(ctx)
		switch {
		case lost != nil:
			return lost
		case !done:
			return frame.ErrRolledBack
		}
		err, t.placeable = nil, allOf(t.unplaced) // the answer is lost: try these again
	}
	if err != nil && !errors.Is(err, errKeepSeats) {
		return err
	}
	// Behind the commit, so that whoever wakes up finds the rows.
	t.notifySenders(t.region, t.senders)
	t.rooms.announce(t.Store)
	t.answer(verdicts)
	return nil
}

func (t *matchTx) run(ctx context.Context, verdicts map[*matchCall]MatchOutcome) error {
	if err := t.lock(ctx); err != nil {
		return err
	}
	open := t.judge(verdicts)
	if t.propose > 0 {
		return t.proposeAll(open)
	}
	c, open, err := t.sessionsAndHosts(ctx, open, verdicts)
	if err != nil {
		return err
	}
	t.place(c, open)
	if t.takes && len(t.seated) < len(t.calls) {
		return errSomeStay
	}
	// Rolled back: the players keep the seats that they would have given up for a session that does not exist.
	if t.mayGiveUpSeats && len(t.unplaced) > 0 {
		if t.placeable, err = t.q.StillPlaceable(ctx, t.stillPlaceable()); err == nil {
			err = errKeepSeats
		}
		return err
	}
	return t.write()
}

// answer gives the matches their outcomes. Those that must be alone, and those that may find a host, stay undecided.
func (t *matchTx) answer(verdicts map[*matchCall]MatchOutcome) {
	for m, o := range verdicts {
		m.out = o
		if o.Kind != MatchPlayersBusy {
			m.isDecided = true
		}
	}
	// As locked: the history has the times and bodies of the rows.
	free := t.freeTickets()
	for _, s := range t.seated {
		s.decide(MatchOutcome{Kind: MatchCommitted, Session: s.placement, MatchID: s.playing(),
			LeftTickets: t.leftTickets(s, free)})
	}
	for _, m := range t.proposed {
		m.decide(MatchOutcome{Kind: MatchProposed, MatchID: m.ID})
	}
	for i, m := range t.unplaced {
		// Decided only if even a snapshot from after all writes shows no room.
		m.out = MatchOutcome{}
		if !slices.Contains(t.placeable, int32(i)) {
			m.decide(MatchOutcome{Kind: MatchNoHost})
		}
	}
}

func allOf(calls []*matchCall) (indexes []int32) {
	for i := range calls {
		indexes = append(indexes, int32(i))
	}
	return indexes
}

// ownerOf returns the owner of a match's profile.
func (c *committer) ownerOf(m *matchCall) (o MatchOwner, ok bool) {
	i := slices.IndexFunc(c.owners, func(o MatchOwner) bool { return o.Profile == m.Profile })
	if i < 0 {
		return o, false
	}
	return c.owners[i], true
}

func profileLost() error {
	return fault.New(fault.Superseded, "profile_lost", "another worker decides for the profile now")
}

// seatedMatch is a match that is to be committed, with its session.
type seatedMatch struct {
	*matchCall
	placement Placement
	session   uuid.UUID // zero for a match without seats
	mode      string
	joined    *joinedMatch // nil: it has a session of its own
}

// playing returns the id of the match that plays in the session.
func (s seatedMatch) playing() uuid.UUID {
	if s.joined != nil {
		return s.joined.id
	}
	return s.ID
}
