package db

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/batch"
	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/internal/pack"
	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// errKeepSeats rolls back a transaction that would give up seats without getting others.
var errKeepSeats = errors.New("no seat to get for the seats given up")

// shortLockWait is how long a batch waits for a lock after it has waited in vain for another one.
const shortLockWait = time.Millisecond

// openBatch decides calls of one region that must wait for other transactions: for the right to open sessions, for
// sessions that others fill, or to give seats up. They share one transaction whatever shapes they ask for, so that the
// number of transactions follows the number of regions. The transaction waits for a lock for Config.LockWait. After
// that, openBatch decides the calls that do not need the lock, and the others stay for the next batch. Each call that
// must give a seat up has a transaction of its own, so that it keeps the seat when it gets no other.
func (s *Store) openBatch(ctx context.Context, region string, calls []*placeCall) error {
	calls = s.refuseExpired(calls)
	if len(calls) == 0 {
		return nil
	}
	lockWait := s.cfg.LockWait
	alone, err := s.placeWaiting(ctx, region, calls, lockWait)
	if frame.IsLockTimeout(err) {
		lockWait = shortLockWait
		alone, err = s.placeAsLastResort(ctx, region, calls)
	}
	if err != nil {
		return err
	}
	for _, c := range alone {
		_, err := s.placeWaiting(ctx, region, []*placeCall{c}, lockWait)
		if frame.IsLockTimeout(err) {
			// The call keeps its seat and stays unanswered. The calls behind it wait for a moment only, since the lock
			// may be held for long.
			lockWait = shortLockWait
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// refuseExpired refuses calls that have waited for longer than a batch may take, and returns the others.
func (s *Store) refuseExpired(calls []*placeCall) []*placeCall {
	for _, c := range calls {
		if time.Since(c.QueuedAt) > s.cfg.BatchTimeout {
			c.Answer(Placement{}, fault.NewUnavailable("no decision in time", nil))
		}
	}
	return batch.Unanswered(calls)
}

// placeWaiting is one transaction that takes the opener locks, so that no other transaction opens sessions of these
// shapes, and waits for the rows that others have locked. It fails with a lock timeout when it waits for one lock for
// longer than lockWait. A call stays unanswered when other transactions took the seats that it found, when another
// transaction is deciding about its players, or when it must give a seat up and is not the only call.
func (s *Store) placeWaiting(ctx context.Context, region string, calls []*placeCall,
	lockWait time.Duration) (alone []*placeCall, err error) {
	var decided, open []*request
	var senders []uuid.UUID
	// Read before the transaction begins: one that waits for a second connection could wait for ever when all are in
	// transactions.
	pooled := s.pooledModes(ctx)
	err = s.frame.InTx(ctx, func(q *query.Queries) error {
		p := placing{store: s, q: q, region: region, pooledModes: pooled, commandSenders: &senders, waitsForRows: true,
			avoidedPlayers: s.newAvoidance(region, calls)}
		var out tx.Pipeline
		l := lockedBatch{}
		query.QueueExec(&out, (*query.Queries).LimitLockWait, max(1, int32(lockWait.Milliseconds())))
		l.queue(&out, region, calls, nil)
		p.avoidedPlayers.queue(&out)
		if err := q.Send(ctx, &out); err != nil {
			return err
		}
		requests, err := p.newRequests(calls, &l)
		if err != nil {
			return err
		}
		decided, open, alone = partitionRequests(requests)
		// A call that is alone in its transaction may give its seats up.
		if len(calls) == 1 && len(alone) == 1 {
			open, alone = requests, nil
		}
		err = p.vacateAndSeat(ctx, open, decided)
		decided = append(decided, open...)
		return err
	})
	// After errKeepSeats the only request has kept its seats: the transaction was rolled back. It is refused all the same
	// if a fresh snapshot has shown no others.
	if err != nil && !errors.Is(err, errKeepSeats) {
		return nil, err
	}
	s.notifySenders(region, senders)
	s.answerAll(ctx, region, decided)
	return alone, nil
}

// vacateAndSeat gives up the seats that the requests supersede, and seats the requests in open sessions, waiting for
// locked ones, and then in new sessions.
func (p placing) vacateAndSeat(ctx context.Context, requests, decided []*request) error {
	if len(requests) == 0 {
		return p.write(nil, nil, decided)
	}
	locks := make([]int64, len(requests))
	for i, r := range requests {
		locks[i] = openerLock(p.region, r.placeRequest.shape())
	}
	if err := p.q.WaitForOpeners(ctx, locks); err != nil {
		return err
	}
	c, vacated, err := p.lockAndVacate(ctx, requests)
	if err != nil {
		return err
	}
	// Others may have been seated while this transaction waited for the locks of sessions.
	if err := p.avoidedPlayers.readAgain(ctx, p.q); err != nil {
		return err
	}
	p.avoidedPlayers.exclude(requests)
	if err := p.seat(ctx, c, requests, decided, vacated); err != nil {
		return err
	}
	if len(requests) == 1 && requests[0].verdict.knownPlacement == nil && len(requests[0].verdict.giveUp) > 0 {
		return errKeepSeats
	}
	return nil
}

// lockAndVacate locks the sessions that may be filled and those in which the requests give seats up, and gives these
// seats up.
func (p placing) lockAndVacate(ctx context.Context, requests []*request) (*candidates, []vacatedSession, error) {
	needs := needsOf(requests)
	refs := seatsGivenUp(requests)
	rows, err := p.q.WaitForOpenSessions(ctx, query.WaitForOpenSessionsParams{
		Region: p.region, Modes: needs.Modes, MaxPlayers: needs.MaxPlayers, Sizes: needs.PartySizes,
		Parties: needs.PartyCounts, Also: refs.SessionIds,
	})
	if err != nil {
		return nil, nil, err
	}
	freed := map[uuid.UUID]int{}
	if len(refs.Subs) > 0 {
		refs.Region, refs.Reason = p.region, "given up"
		gone, err := p.q.ReleaseSeats(ctx, refs)
		if err != nil {
			return nil, nil, err
		}
		for _, g := range gone {
			freed[g.SessionID]++
		}
	}
	c := newCandidates(p.region)
	var vacated []vacatedSession
	for _, r := range rows {
		// Seats that were given up a moment ago are free for the same requests.
		players := int(r.PlayerCount) - freed[r.ID]
		if r.Fillable {
			c.addSession(pack.Session{Shape: pack.Shape{Mode: r.Mode, MaxPlayers: int(r.MaxPlayers)}, ID: r.ID,
				PlayerCount: players, HostIndex: pack.AlreadyOpen}, r.Handle, r.Endpoint)
		}
		if freed[r.ID] > 0 {
			vacated = append(vacated, vacatedSession{r.ID, r.InstanceID, players == 0})
		}
	}
	return c, vacated, nil
}

func seatsGivenUp(requests []*request) query.ReleaseSeatsParams {
	var p query.ReleaseSeatsParams
	for _, r := range requests {
		for _, ref := range r.verdict.giveUp {
			p.SessionIds = append(p.SessionIds, ref.sessionID)
			p.Subs = append(p.Subs, ref.playerSub)
		}
	}
	return p
}
