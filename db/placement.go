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

// Placement tells where players are seated.
type Placement struct {
	SessionID     string `json:"session_id"`
	SessionHandle string `json:"session_handle"`
	Endpoint      string `json:"endpoint"`
	Region        string `json:"region"`
	Mode          string `json:"mode"`
	PlayerCount   int    `json:"player_count"`
	MaxPlayers    int    `json:"max_players"`
}

// Place seats a party together in one session, or answers the seat it already has. Requests that arrive together are
// decided in one transaction; the rule is in queries/placement.sql. A request that must wait for a lock of another
// transaction does not hold up the others, and those that need not wait may overtake it. Errors: NoCapacity, Conflict when a member holds
// an own seat elsewhere, Mismatch when the idempotency key was used with another body, TooMany, Unavailable.
func (s *Store) Place(ctx context.Context, r PlaceRequest) (Placement, error) {
	p, err := s.groups.placements.Do(ctx, r.Region, r)
	if IsKind(err, NoCapacity) {
		err = s.catalogue.explain(ctx, r, err)
	}
	return p, err
}

type placeCall = batch.Call[PlaceRequest, Placement]

// wish is a call while one transaction decides it.
type wish struct {
	call *placeCall
	req  PlaceRequest
	verdict
	fillOnly bool // this transaction may neither open a session for it nor refuse it
	room     int  // index in the packed rooms, or -1
}

// placeBatch decides calls of one region without waiting for anybody's lock, which is all that most calls need. Those
// that it has to leave go on in the group that may wait (openBatch), and the next calls of the region do not wait for
// them. Calls about players that another transaction decides about right now go into the next batch.
func (s *Store) placeBatch(ctx context.Context, region string, calls []*placeCall) error {
	if len(calls) == 1 {
		if done, err := s.placeOne(ctx, region, calls[0]); done || err != nil {
			return err
		}
	}
	left, _, err := s.placeAtOnce(ctx, region, calls, false)
	if err != nil {
		return err
	}
	for _, c := range left {
		c.MoveTo(s.groups.openings, region)
	}
	letThrough(ctx, left)
	return nil
}

// letThroughFor is several times what a transaction takes that nobody holds up.
const letThroughFor = 20 * time.Millisecond

// letThrough gives calls that were moved a moment to be answered. If the next batch began at once, the two groups would
// contend for the same sessions, and so move most calls of all later batches as well.
func letThrough(ctx context.Context, calls []*placeCall) {
	ctx, cancel := context.WithTimeout(ctx, letThroughFor)
	defer cancel()
	for _, c := range calls {
		select {
		case <-c.Done():
		case <-ctx.Done():
			return
		}
	}
}

// placeOne seats a party that waits alone, where nothing is in the way: most calls of an installation that is not busy
// are like that, and they take one round trip. A party that fills a session by itself finds no open one.
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

// placeAtOnce is one transaction that waits for nobody's lock. It fills open sessions that nobody else is filling. For a
// shape that it alone may open sessions of, and of which nobody else holds a session with room, it also opens new ones and
// refuses the calls that nothing takes. The last resort, for calls that have waited in vain, looks at more open sessions,
// and opens new ones although somebody holds sessions with room. Calls that are left could be decided by waiting; those
// among them that must give a seat up are alone as well.
func (s *Store) placeAtOnce(ctx context.Context, region string, calls []*placeCall, lastResort bool) (left, alone []*placeCall, err error) {
	var decided, open []*wish
	err = s.inTx(ctx, func(q *Queries) error {
		p := placing{Store: s, q: q, region: region, lastResort: lastResort}
		c, shapes := &claim{}, shapesOf(calls)
		if err := p.claim(ctx, c, calls, shapes); err != nil {
			return err
		}
		wishes, err := p.judge(calls, c)
		if err != nil {
			return err
		}
		decided, open, alone = sortOut(wishes)
		b, contested := p.heldRooms(c.rooms)
		restrict(open, c.mayOpen(calls, shapes), contested, lastResort)
		err = p.settle(ctx, b, open, decided, nil)
		decided = append(decided, open...)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	answerAll(decided)
	for _, w := range open {
		if !w.call.Answered() {
			left = append(left, w.call)
		}
	}
	return append(left, alone...), alone, nil
}

// restrict keeps wishes from opening sessions, or from being refused, where that could be wrong: somebody else may be
// opening a session of that shape, or holds one with room, or more had to be looked at since players may not be put into
// all of them.
func restrict(wishes []*wish, mayOpen, contested map[shape]bool, lastResort bool) {
	for _, w := range wishes {
		if len(w.playedIn) > 0 {
			contested[w.req.shape()] = true
		}
	}
	for _, w := range wishes {
		sh := w.req.shape()
		w.fillOnly = !mayOpen[sh] || contested[sh] && !lastResort
	}
}

// spare is how many sessions and hosts more than needed the last resort looks at, for each shape and party size.
const spare = 16

func (p placing) withSpare(counts []int32) []int32 {
	if p.lastResort {
		for i := range counts {
			counts[i] += spare
		}
	}
	return counts
}

// claim asks all at once for what a flight begins with, and for the rooms that its calls may need. What players hold
// already is only known with the answer: a few rooms too many are locked for those who need none.
func (p placing) claim(ctx context.Context, c *claim, calls []*placeCall, opening []shape) error {
	var out tx.Pipeline
	c.queue(&out, p.region, calls, opening)
	k := keys{}
	for _, call := range calls {
		k.add(call.Req, 1)
	}
	queue(&out, &c.rooms, (*Queries).FillOpenSessions, FillOpenSessionsParams{
		Region: p.region, Modes: k.modes, MaxPlayers: k.maxPlayers, Sizes: k.sizes, Parties: p.withSpare(k.parties),
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

// heldRooms is the board of the rooms this transaction holds, and the shapes of those that others hold.
func (p placing) heldRooms(rows []FillOpenSessionsRow) (b *board, contested map[shape]bool) {
	b, contested = newBoard(p.region), map[shape]bool{}
	for _, r := range rows {
		sh := shape{r.Mode, int(r.MaxPlayers)}
		if !r.Held {
			contested[sh] = true
			continue
		}
		b.addRoom(room{sh, r.ID, int(r.PlayerCount), alreadyOpen}, r.Handle, r.Endpoint)
	}
	return b, contested
}

// sortOut parts wishes into those that are decided, those to place, and those that must give a seat up first.
func sortOut(wishes []*wish) (decided, open []*wish, alone []*placeCall) {
	for _, w := range wishes {
		switch {
		case w.answer != nil || w.err != nil:
			decided = append(decided, w)
		case len(w.giveUp) > 0:
			alone = append(alone, w.call)
		default:
			open = append(open, w)
		}
	}
	return decided, open, alone
}

func answerAll(wishes []*wish) {
	for _, w := range wishes {
		switch {
		case w.err != nil:
			w.call.Answer(Placement{}, w.err)
		case w.answer != nil:
			w.call.Answer(*w.answer, nil)
		}
	}
}

// placing is one transaction of placement.
type placing struct {
	*Store
	q      *Queries
	region string

	wait       bool // for locks that others hold; else what they hold is left out
	lastResort bool // see placeAtOnce
}

// keys is what wishes ask for, a row for each shape and party size.
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

func wanted(wishes []*wish) (k keys) {
	for _, w := range wishes {
		k.add(w.req, 1+len(w.playedIn)) // these may be among those found: look for one more each
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

// write stores what the board decided for the seated wishes, fills in their answers, and keeps all answers that may be
// asked for again. It is put off until somebody has to see it.
func (p placing) write(b *board, seated, decided []*wish) error {
	if len(seated) > 0 {
		b.decided(seated, p.cfg.Timing.SeatTTL).write(p.q.deferred())
	}
	for _, w := range seated {
		w.answer = b.placement(w.room)
	}
	return p.storeAnswers(p.q.deferred(), append(slices.Clip(decided), seated...))
}
