package db

import (
	"context"
	"slices"
	"time"

	"github.com/lattice-director/director/db/internal/batch"
	"github.com/lattice-director/director/db/internal/tx"
)

// PlaceRequest asks for seats for a party in one session.
type PlaceRequest struct {
	Caller         string
	Region         string
	Mode           string
	Party          []string // includes the caller; no player twice
	MaxPlayers     int      // at least the size of the party
	IdempotencyKey string   // empty for none
	RequestHash    []byte   // of the body, when there is a key
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

// Place seats a party together in one session, or returns the seat that it already has. Requests that wait together share
// one transaction; the rule is in queries/placement.sql. A request that must wait for a lock of another transaction does not
// delay requests that need not wait, and they may overtake it. Errors: NoCapacity, Conflict when a member holds a seat of its
// own elsewhere, Mismatch when the idempotency key was used with another body, TooMany, Unavailable.
func (s *Store) Place(ctx context.Context, r PlaceRequest) (Placement, error) {
	p, err := s.groups.placements.Do(ctx, r.Region, r)
	if IsKind(err, NoCapacity) {
		err = s.catalogue.explain(ctx, r, err)
	}
	return p, err
}

type placeCall = batch.Call[PlaceRequest, Placement]

// request is a call in the transaction that decides it.
type request struct {
	call *placeCall
	req  PlaceRequest
	verdict
	fillOnly bool // this transaction may neither open a session for it nor refuse it
	session  int  // index in candidates.packed, or -1
}

// placeBatch decides calls of one region without waiting for a lock, which is enough for most calls. It moves the others to
// the group that may wait (openBatch), so that the region's next calls do not wait for them. Calls about players whom another
// transaction is deciding about stay for the next batch.
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
		c.MoveTo(s.groups.openings, region)
	}
	giveHeadStart(ctx, left)
	return nil
}

// headStart is several times the length of a transaction that waits for no lock.
const headStart = 20 * time.Millisecond

// giveHeadStart waits a moment for the answers to calls that were moved. If the next batch began at once, the two groups would
// contend for the same sessions, and most calls of all later batches would have to be moved as well.
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

// placeOne seats the party of a batch of one in one round trip, when no lock is held and no seat is in the way, as in most
// calls of an installation that is not busy. It skips a party that needs a whole session, since no open session is empty.
func (s *Store) placeOne(ctx context.Context, region string, c *placeCall) (done bool, err error) {
	r := c.Req
	if r.IdempotencyKey != "" || len(r.Party) == r.MaxPlayers || len(r.Party) > s.cfg.MaxReserved {
		return false, nil
	}
	rows, err := s.q.FillForOne(ctx, FillForOneParams{
		Region: region, Locks: playerLocks(r), Subs: r.Party, Caller: r.Caller, Mode: r.Mode, MaxPlayers: int32(r.MaxPlayers),
		Size: int32(len(r.Party)), Party: partyKey(r.Party), SeatTtl: s.cfg.Timing.SeatTTL,
	})
	if err != nil || len(rows) == 0 {
		return false, err
	}
	c.Answer(Placement{
		SessionID: sessionID(region, rows[0].ID), SessionHandle: rows[0].Handle, Endpoint: rows[0].Endpoint, Region: region,
		Mode: r.Mode, PlayerCount: int(rows[0].PlayerCount), MaxPlayers: r.MaxPlayers,
	}, nil)
	return true, nil
}

// placeWithoutWaiting is one transaction that waits for no lock. It fills open sessions that no other transaction has locked.
// For a shape whose opener lock it gets, and of which no other transaction has locked a session with free seats, it also
// opens new sessions and refuses the calls that find no seat. As the last resort, for calls that have waited in vain, it reads
// more candidates, and opens sessions although others are locked. The calls in left can be decided by waiting; alone are
// those of them that must give a seat up.
func (s *Store) placeWithoutWaiting(ctx context.Context, region string, calls []*placeCall, lastResort bool) (left, alone []*placeCall, err error) {
	var decided, open []*request
	err = s.inTx(ctx, func(q *Queries) error {
		p := placing{Store: s, q: q, region: region, lastResort: lastResort}
		l, shapes := locked{}, shapesOf(calls)
		if err := p.lock(ctx, &l, calls, shapes); err != nil {
			return err
		}
		requests, err := p.newRequests(calls, &l)
		if err != nil {
			return err
		}
		decided, open, alone = partition(requests)
		c, contested := p.lockedSessions(l.sessions)
		restrict(open, l.mayOpen(calls, shapes), contested, lastResort)
		err = p.seat(ctx, c, open, decided, nil)
		decided = append(decided, open...)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	answerAll(decided)
	for _, r := range open {
		if !r.call.Answered() {
			left = append(left, r.call)
		}
	}
	return append(left, alone...), alone, nil
}

// restrict marks as fillOnly the requests for which opening a session, or a refusal, could be wrong: another transaction may
// be opening a session of that shape or has locked one with free seats, or too few sessions were read because the party may
// not join all of them.
func restrict(requests []*request, mayOpen, contested map[shape]bool, lastResort bool) {
	for _, r := range requests {
		if len(r.playedIn) > 0 {
			contested[r.req.shape()] = true
		}
	}
	for _, r := range requests {
		sh := r.req.shape()
		r.fillOnly = !mayOpen[sh] || contested[sh] && !lastResort
	}
}

// extraCandidates is how many more sessions and hosts than needed the last resort reads, for each shape and party size.
const extraCandidates = 16

func (p placing) withExtra(counts []int32) []int32 {
	if p.lastResort {
		for i := range counts {
			counts[i] += extraCandidates
		}
	}
	return counts
}

// lock reads and locks, in one round trip, what a batch begins with and the sessions that its calls may need. Which players
// have a seat already is known only afterwards, so it may lock a few sessions that no call needs.
func (p placing) lock(ctx context.Context, l *locked, calls []*placeCall, opening []shape) error {
	var out tx.Pipeline
	l.queue(&out, p.region, calls, opening)
	k := keys{}
	for _, call := range calls {
		k.add(call.Req, 1)
	}
	queue(&out, &l.sessions, (*Queries).FillOpenSessions, FillOpenSessionsParams{
		Region: p.region, Modes: k.modes, MaxPlayers: k.maxPlayers, Sizes: k.sizes, Parties: p.withExtra(k.parties),
	})
	return p.q.send(ctx, &out)
}

func shapesOf(calls []*placeCall) (shapes []shape) {
	for _, c := range calls {
		if sh := c.Req.shape(); !slices.Contains(shapes, sh) {
			shapes = append(shapes, sh)
		}
	}
	return shapes
}

func (r PlaceRequest) shape() shape { return shape{r.Mode, r.MaxPlayers} }

// lockedSessions splits sessions into candidates, which this transaction has locked, and contested shapes, of which another
// transaction has locked a session.
func (p placing) lockedSessions(rows []FillOpenSessionsRow) (c *candidates, contested map[shape]bool) {
	c, contested = newCandidates(p.region), map[shape]bool{}
	for _, r := range rows {
		sh := shape{r.Mode, int(r.MaxPlayers)}
		if !r.Held {
			contested[sh] = true
			continue
		}
		c.addSession(packedSession{sh, r.ID, int(r.PlayerCount), alreadyOpen}, r.Handle, r.Endpoint)
	}
	return c, contested
}

// partition splits requests into those that are decided, those to place, and those that must give a seat up first.
func partition(requests []*request) (decided, open []*request, alone []*placeCall) {
	for _, r := range requests {
		switch {
		case r.answer != nil || r.err != nil:
			decided = append(decided, r)
		case len(r.giveUp) > 0:
			alone = append(alone, r.call)
		default:
			open = append(open, r)
		}
	}
	return decided, open, alone
}

func answerAll(requests []*request) {
	for _, r := range requests {
		switch {
		case r.err != nil:
			r.call.Answer(Placement{}, r.err)
		case r.answer != nil:
			r.call.Answer(*r.answer, nil)
		}
	}
}

// placing is one transaction of placement.
type placing struct {
	*Store
	q      *Queries
	region string

	wait       bool // for locked rows; false skips them
	lastResort bool // see placeWithoutWaiting
}

// keys are the shapes and party sizes that requests ask for, with the number of parties of each.
type keys struct {
	modes      []string
	maxPlayers []int32
	sizes      []int32
	parties    []int32
}

// add counts n parties like that of the request.
func (k *keys) add(r PlaceRequest, n int) {
	for i := range k.modes {
		if k.modes[i] == r.Mode && int(k.maxPlayers[i]) == r.MaxPlayers && int(k.sizes[i]) == len(r.Party) {
			k.parties[i] += int32(n)
			return
		}
	}
	k.modes = append(k.modes, r.Mode)
	k.maxPlayers = append(k.maxPlayers, int32(r.MaxPlayers))
	k.sizes = append(k.sizes, int32(len(r.Party)))
	k.parties = append(k.parties, int32(n))
}

func wanted(requests []*request) (k keys) {
	for _, r := range requests {
		k.add(r.req, 1+len(r.playedIn)) // a session that the party may not join may be among those found: read one more for each
	}
	return k
}

// sessions is how many sessions the parties need at most, row by row.
func (k *keys) sessions() []int32 {
	n := make([]int32, len(k.modes))
	for i := range n {
		together := max(1, k.maxPlayers[i]/k.sizes[i])
		n[i] = (k.parties[i] + together - 1) / together
	}
	return n
}

// write defers the statements that store the seats, and the answers of requests with an idempotency key, and fills in the
// answers of the seated requests.
func (p placing) write(c *candidates, seated, decided []*request) error {
	if len(seated) > 0 {
		c.writes(seated, p.cfg.Timing.SeatTTL).queue(p.q.deferred())
	}
	for _, r := range seated {
		r.answer = c.placement(r.session)
	}
	return p.storeAnswers(p.q.deferred(), append(slices.Clip(decided), seated...))
}
