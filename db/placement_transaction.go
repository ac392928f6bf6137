package db

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/pack"
	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// placeWithoutWaiting is one transaction that waits for no lock. It fills open sessions that no other transaction has
// locked. For a shape whose opener lock it gets, and of which no other transaction has locked a session with free
// seats, it also opens new sessions and refuses the calls that find no seat. The calls in left can be decided by
// waiting; alone are those of them that must give a seat up.
func (s *Store) placeWithoutWaiting(ctx context.Context, region string,
	calls []*placeCall) (left, alone []*placeCall, err error) {
	return s.placeInFreeSessions(ctx, region, calls, placing{})
}

// placeAsLastResort is placeWithoutWaiting for calls that have waited in vain: it reads more candidates, and opens
// sessions although others are locked. It returns the calls that must give a seat up.
func (s *Store) placeAsLastResort(ctx context.Context, region string,
	calls []*placeCall) (alone []*placeCall, err error) {
	_, alone, err = s.placeInFreeSessions(ctx, region, calls, placing{lastResort: true})
	return alone, err
}

// placeInFreeSessions runs the transaction of placeWithoutWaiting or, where p has lastResort, of placeAsLastResort. It
// sets the other fields of p.
func (s *Store) placeInFreeSessions(ctx context.Context, region string, calls []*placeCall,
	p placing) (left, alone []*placeCall, err error) {
	var decided, open []*request
	var senders []uuid.UUID
	// Read before the transaction begins, which must not wait for a second connection.
	p.store, p.region, p.pooledModes, p.commandSenders = s, region, s.pooledModes(ctx), &senders
	err = s.frame.InTx(ctx, func(q *query.Queries) error {
		p.q, p.avoidedPlayers = q, s.newAvoidance(region, calls)
		l, shapes := lockedBatch{}, shapesOf(calls)
		if err := p.lock(ctx, &l, calls, shapes); err != nil {
			return err
		}
		requests, err := p.newRequests(calls, &l)
		if err != nil {
			return err
		}
		decided, open, alone = partitionRequests(requests)
		c, contested := p.lockedSessions(l.fillableSessions)
		// Without the opener lock, another transaction opens sessions of the shape now.
		p.restrictOpening(open, l.mayOpen(calls, shapes), contested)
		err = p.seat(ctx, c, open, decided, nil)
		decided = append(decided, open...)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	s.notifySenders(region, senders)
	s.answerAll(ctx, region, decided)
	// Those that may neither open a session nor be refused here have to wait.
	for _, r := range open {
		if !r.call.IsAnswered() {
			left = append(left, r.call)
		}
	}
	return append(left, alone...), alone, nil
}

// restrictOpening marks as fillOnly the requests for which opening a session, or a refusal, could be wrong: another
// transaction may be opening a session of that shape or has locked one with free seats, or too few sessions were read
// because the party may not join all of them.
func (p placing) restrictOpening(requests []*request, mayOpen, contested map[pack.Shape]bool) {
	for _, r := range requests {
		if len(r.verdict.excludedSessions) > 0 {
			contested[r.placeRequest.shape()] = true
		}
	}
	for _, r := range requests {
		sh := r.placeRequest.shape()
		r.fillOnly = !mayOpen[sh] || contested[sh] && !p.lastResort
	}
}

// lock locks and reads, in one round trip, what a batch begins with and the sessions that its calls may need. Which
// players have a seat already is known only afterwards, so it may lock a few sessions that no call needs.
func (p placing) lock(ctx context.Context, l *lockedBatch, calls []*placeCall, shapes []pack.Shape) error {
	var out tx.Pipeline
	l.queue(&out, p.region, calls, shapes)
	needs := pack.Needs{}
	for _, call := range calls {
		needs.AddParties(call.Req.shape(), len(call.Req.Party), 1)
	}
	query.Queue(&out, &l.fillableSessions, (*query.Queries).FillOpenSessions, query.FillOpenSessionsParams{
		Region: p.region, Modes: needs.Modes, MaxPlayers: needs.MaxPlayers, Sizes: needs.PartySizes,
		Parties: p.withExtra(needs.PartyCounts),
	})
	p.avoidedPlayers.queue(&out)
	return p.q.Send(ctx, &out)
}

// withExtra returns the counts of candidates to read, which are more in the last resort.
func (p placing) withExtra(counts []int32) []int32 {
	if !p.lastResort {
		return counts
	}
	more := slices.Clone(counts)
	for i := range more {
		more[i] += pack.ExtraCandidates
	}
	return more
}

// lockedSessions splits sessions into candidates, which this transaction has locked, and contested shapes, of which
// another transaction has locked a session.
func (p placing) lockedSessions(rows []query.FillOpenSessionsRow) (c *candidates, contested map[pack.Shape]bool) {
	c, contested = newCandidates(p.region), map[pack.Shape]bool{}
	for _, r := range rows {
		sh := pack.Shape{Mode: r.Mode, MaxPlayers: int(r.MaxPlayers)}
		if !r.Held {
			contested[sh] = true
			continue
		}
		c.addSession(pack.Session{Shape: sh, ID: r.ID, PlayerCount: int(r.PlayerCount), HostIndex: pack.AlreadyOpen},
			r.Handle, r.Endpoint)
	}
	return c, contested
}

// partitionRequests splits requests into those that are decided, those to place, and the calls of those that must give
// a seat up first.
func partitionRequests(requests []*request) (decided, open []*request, alone []*placeCall) {
	for _, r := range requests {
		switch {
		case r.verdict.isDecided():
			decided = append(decided, r)
		case len(r.verdict.giveUp) > 0:
			alone = append(alone, r.call)
		default:
			open = append(open, r)
		}
	}
	return decided, open, alone
}

// seat chooses candidates for the requests and then, where they may open sessions, new sessions. It refuses, with
// NoCapacity, the requests for which a fresh snapshot shows no free seats, and leaves the others unanswered.
func (p placing) seat(ctx context.Context, c *candidates, requests, decided []*request,
	vacated []vacatedSession) error {
	seated := c.chooseSessions(requests)
	left := unseatedRequests(requests)
	if len(left) > 0 {
		if err := p.lockHosts(ctx, c, left, vacated); err != nil {
			return err
		}
		// Chosen anew, since parties that found no session may share one that is opened.
		seated = c.chooseSessions(requests)
	}
	if err := p.write(c, seated, decided); err != nil {
		return err
	}
	left = unseatedRequests(requests)
	// All have their seats: what is deferred goes out with COMMIT, in the same round trip.
	if len(vacated)+len(left) == 0 {
		return nil
	}
	// Sent now, so that the statements below see the seats that this transaction has given out.
	if err := p.q.Flush(ctx); err != nil {
		return err
	}
	if len(vacated) > 0 {
		if _, err := p.q.CloseEmptySessions(ctx,
			query.CloseEmptySessionsParams{Region: p.region, Ids: vacatedIDs(vacated)}); err != nil {
			return err
		}
	}
	return p.refuse(ctx, left)
}

// unseatedRequests returns the requests that got no session and that a session may be opened for.
func unseatedRequests(requests []*request) (left []*request) {
	for _, r := range requests {
		if r.packedIndex < 0 && !r.fillOnly {
			left = append(left, r)
		}
	}
	return left
}

// lockHosts locks instances on which sessions for the requests could be opened, and the instances of the vacated
// sessions that are empty now, closes these sessions, and adds the instances to the candidates.
func (p placing) lockHosts(ctx context.Context, c *candidates, requests []*request, vacated []vacatedSession) error {
	needs := needsOf(requests)
	arg := query.LockHostsParams{Region: p.region, Modes: needs.Modes, MaxPlayers: needs.MaxPlayers,
		Sessions: p.withExtra(needs.SessionCounts()), Wait: p.waitsForRows}
	var empty []uuid.UUID
	for _, g := range vacated {
		// Only sessions without players are closed, which gives their instances free seats.
		if g.isEmpty {
			empty = append(empty, g.id)
			arg.Also = append(arg.Also, g.instanceID)
		}
	}
	rows, err := p.q.LockHosts(ctx, arg)
	if err != nil {
		return err
	}
	if len(empty) > 0 {
		if rows, err = p.closeEmptied(ctx, empty, rows); err != nil {
			return err
		}
		c.dropSessions(empty)
	}
	for _, r := range rows {
		// LockHosts also returns instances of sessions that were closed here, which may be draining or silent.
		if r.Open {
			c.addHost(r)
		}
	}
	return nil
}

// closeEmptied closes sessions, and reads the locked instances again, since some have more free seats now. It names
// them by their ids, so that it locks no others: one of them could come before these in the lock order.
func (p placing) closeEmptied(ctx context.Context, sessions []uuid.UUID,
	hosts []query.LockHostsRow) ([]query.LockHostsRow, error) {
	_, err := p.q.CloseSessions(ctx, query.CloseSessionsParams{Region: p.region, Ids: sessions, Reason: "empty"})
	if err != nil {
		return nil, err
	}
	return p.q.LockHosts(ctx, query.LockHostsParams{Region: p.region, Also: hostIDs(hosts), Wait: p.waitsForRows})
}

func hostIDs(rows []query.LockHostsRow) []string {
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	return ids
}

// refuse gives the verdict NoCapacity to requests for which a fresh snapshot shows no free seats, locked or not.
func (p placing) refuse(ctx context.Context, requests []*request) error {
	// A statement has its own snapshot, which has what others committed while this transaction ran.
	arg := query.StillPlaceableParams{Region: p.region}
	for i, r := range requests {
		arg.Requests = append(arg.Requests, int32(i))
		arg.Modes = append(arg.Modes, r.placeRequest.Mode)
		arg.MaxPlayers = append(arg.MaxPlayers, int32(r.placeRequest.MaxPlayers))
		arg.Sizes = append(arg.Sizes, int32(len(r.placeRequest.Party)))
		for _, session := range r.verdict.excludedSessions {
			arg.Players = append(arg.Players, int32(i))
			arg.PlayedIn = append(arg.PlayedIn, session)
		}
	}
	if len(arg.Requests) == 0 {
		return nil
	}
	placeable, err := p.q.StillPlaceable(ctx, arg)
	if err != nil {
		return err
	}
	for _, i := range arg.Requests {
		if !slices.Contains(placeable, i) {
			r := requests[i]
			r.verdict.err = fault.New(fault.NoCapacity, "no_capacity",
				"no instance in region %q can host mode %q for %d players now", p.region, r.placeRequest.Mode,
				r.placeRequest.MaxPlayers)
		}
	}
	return nil
}

// write defers the statements that store the seats, and the answers of requests with an idempotency key, and fills in
// the answers of the seated requests.
func (p placing) write(c *candidates, seated, decided []*request) error {
	if len(seated) > 0 {
		c.makeWrites(seated, p.store.cfg.Timing.SeatTTL).queue(p.q.Deferred(), p.commandSenders)
		p.endWaiting(seated)
	}
	for _, r := range seated {
		r.verdict.knownPlacement = c.placementOf(r.packedIndex)
	}
	// Clipped: the caller appends to decided as well.
	return p.storeAnswers(p.q.Deferred(), append(slices.Clip(decided), seated...))
}

// answerAll answers the requests that are decided. Those that wait for a server are answered last, after their demand
// was recorded.
func (s *Store) answerAll(ctx context.Context, region string, requests []*request) {
	var waiting []*request
	for _, r := range requests {
		if r.mayWait() {
			waiting = append(waiting, r)
			continue
		}
		r.reply()
	}
	if len(waiting) > 0 {
		s.awaitServers(ctx, region, waiting)
	}
	for _, r := range waiting {
		r.reply()
	}
}

// reply answers the call of a request that is decided. Any other call stays for the next batch.
func (r *request) reply() {
	switch {
	case r.verdict.err != nil:
		r.call.Answer(Placement{}, r.verdict.err)
	case r.verdict.knownPlacement != nil:
		r.call.Answer(*r.verdict.knownPlacement, nil)
	}
}
