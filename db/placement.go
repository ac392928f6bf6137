package db

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"github.com/lattice-director/director/db/internal/batch"
	"github.com/lattice-director/director/db/internal/pack"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// PlaceRequest asks for seats for a party in one session.
type PlaceRequest struct {
	Caller         string
	Region         string
	Build          string // of the client, which a valve may be for; "": not known
	Mode           string
	Party          []string // includes the caller; no player twice
	MaxPlayers     int      // at least the size of the party
	IdempotencyKey string   // empty for none
	RequestHash    []byte   // of the body, when there is a key

	// WaitFor is how long a request that finds no capacity counts as waiting for a server of the pool that serves the
	// mode; 0: not at all.
	WaitFor time.Duration
	Address netip.Addr // of the caller, a hint for where a server should start; the zero value: not known
}

// Placement is where players are seated.
type Placement struct {
	SessionID     string `json:"session_id"`
	SessionHandle string `json:"session_handle"`
	Endpoint      string `json:"endpoint"`
	Region        string `json:"region"`
	Mode          string `json:"mode"`
	PlayerCount   int    `json:"player_count"`
	MaxPlayers    int    `json:"max_players"`
}

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
	p, err := s.batchGroups.placements.Do(ctx, r.Region, r)
	switch {
	case err == nil:
		s.noticeBus.Notify(topicSessions, p.Region, p.Endpoint)
	// A mode that a pool serves is no misspelt one, whether a server of it runs by now or not.
	case fault.Is(err, fault.NoCapacity) && !s.servedByPool(ctx, r.Region, r.Mode):
		err = s.catalogue.explain(ctx, r, err)
	}
	return p, err
}

type placeCall = batch.Call[PlaceRequest, Placement]

// request is a call in the transaction that decides it.
type request struct {
	call         *placeCall
	placeRequest PlaceRequest
	verdict      verdict
	fillOnly     bool // this transaction may neither open a session for it nor refuse it
	packedIndex  int  // index in candidates.packed, or -1
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
	left, _, err := s.placeWithoutWaiting(ctx, region, calls, false)
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
		MaxPlayers: int32(r.MaxPlayers),
		Size:       int32(len(r.Party)), Party: partyKey(r.Party), SeatTtl: s.cfg.Timing.SeatTTL,
	})
	// No row: a lock is held, a seat is in the way, or no session has room. The transaction finds out.
	if err != nil || len(rows) == 0 {
		return false, err
	}
	c.Answer(Placement{
		SessionID: sessionID(region, rows[0].ID), SessionHandle: rows[0].Handle, Endpoint: rows[0].Endpoint,
		Region: region,
		Mode:   r.Mode, PlayerCount: int(rows[0].PlayerCount), MaxPlayers: r.MaxPlayers,
	}, nil)
	return true, nil
}

func shapesOf(calls []*placeCall) (shapes []pack.Shape) {
	for _, c := range calls {
		if sh := c.Req.shape(); !slices.Contains(shapes, sh) {
			shapes = append(shapes, sh)
		}
	}
	return shapes
}

func (r PlaceRequest) shape() pack.Shape { return pack.Shape{Mode: r.Mode, MaxPlayers: r.MaxPlayers} }
