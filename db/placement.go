package db

import (
	"context"
	"time"

	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// Place seats a party together in one session, or returns the seat that it already has. Requests that wait together
// share one transaction; the rule is in queries/placement.sql. A request that must wait for a lock of another
// transaction does not delay requests that need not wait, and they may overtake it. Errors: NoCapacity, Conflict when a
// member holds a seat of its own elsewhere, Mismatch when the idempotency key was used with another body, TooMany, also
// "not_admitted" and "login_queue_full" where a valve limits who enters, Elsewhere, Unavailable.
func (s *Store) Place(ctx context.Context, r PlaceRequest) (Placement, error) {
	if err := s.CheckHere(r.Region); err != nil {
		return Placement{}, err
	}
	entering := arrival{region: r.Region, build: r.Build, callerSub: r.Caller, partySubs: r.Party}
	if err := s.admit(ctx, entering); err != nil {
		return Placement{}, err
	}
	return s.placeAdmitted(ctx, r)
}

// placeAdmitted is [Store.Place] for players whom no valve holds up, in a region that this cell serves.
func (s *Store) placeAdmitted(ctx context.Context, r PlaceRequest) (Placement, error) {
	p, err := s.batchGroups.placements.Do(ctx, r.Region, r)
	if err == nil {
		s.noticeBus.Notify(topicSessions, p.Region, p.Endpoint)
		return p, nil
	}
	// A mode that a pool serves is no misspelt one, whether a server of it runs by now or not.
	if fault.Is(err, fault.NoCapacity) && !s.servedByPool(ctx, r.Region, r.Mode) {
		return p, s.catalogue.explain(ctx, r, err)
	}
	return p, err
}

// placeBatch decides calls of one region without waiting for a lock, which is enough for most calls. It moves the
// others to the group that may wait (openBatch), so that the region's next calls do not wait for them. Calls about
// players whom another transaction is deciding about stay for the next batch.
func (s *Store) placeBatch(ctx context.Context, region string, calls []*placeCall) error {
	if len(calls) == 1 {
		if done, err := s.placeOne(ctx, region, calls[0]); done || err != nil {
			return err
		}
	}
	left, _, err := s.placeWithoutWaiting(ctx, region, calls)
	if err != nil {
		return err
	}
	for _, c := range left {
		c.MoveTo(s.batchGroups.waitingPlacements, region)
	}
	giveHeadStart(ctx, left)
	return nil
}

// headStart is several times the length of a transaction that waits for no lock.
const headStart = 20 * time.Millisecond

// giveHeadStart waits a moment for the answers to calls that were moved. If the next batch began at once, the two
// groups would contend for the same sessions, and most calls of all later batches would have to be moved as well.
func giveHeadStart(ctx context.Context, calls []*placeCall) {
	ctx, cancel := context.WithTimeout(ctx, headStart)
	defer cancel()
	for _, c := range calls {
		select {
		case <-c.Done():
		case <-ctx.Done():
			return
		}
	}
}

// placeOne seats the party of a batch of one in one round trip, when no lock is held and no seat is in the way, as in
// most calls of an installation that is not busy. It skips a party that needs a whole session, since no open session is
// empty, and modes that a pool serves, where seating also removes demand.
func (s *Store) placeOne(ctx context.Context, region string, c *placeCall) (done bool, err error) {
	r := c.Req
	if r.IdempotencyKey != "" || len(r.Party) == r.MaxPlayers || len(r.Party) > s.cfg.MaxReserved ||
		s.servedByPool(ctx, region, r.Mode) {
		return false, nil
	}
	rows, err := s.q.FillForOne(ctx, query.FillForOneParams{
		Region: region, Universe: s.cfg.Universe, Locks: playerLocks(r), Subs: r.Party, Caller: r.Caller, Mode: r.Mode,
		MaxPlayers: int32(r.MaxPlayers), Size: int32(len(r.Party)), Party: partyKey(r.Party),
		SeatTtl: s.cfg.Timing.SeatTTL,
	})
	// No row: a lock is held, a seat is in the way, or no session has room. The transaction finds out.
	if err != nil || len(rows) == 0 {
		return false, err
	}
	c.Answer(Placement{
		SessionID: sessionID(region, rows[0].ID), SessionHandle: rows[0].Handle, Endpoint: rows[0].Endpoint,
		Region: region, Mode: r.Mode, PlayerCount: int(rows[0].PlayerCount), MaxPlayers: r.MaxPlayers,
	}, nil)
	return true, nil
}
