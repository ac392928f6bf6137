package db

import (
	"context"
	"slices"
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
// decided in one transaction; the rule is in queries/placement.sql. Errors: NoCapacity, Conflict when a member holds
// an own seat elsewhere, Mismatch when the idempotency key was used with another body, TooMany, Unavailable.
func (s *Store) Place(ctx context.Context, r PlaceRequest) (Placement, error) {
	return s.placer.do(ctx, r.Region, r)
}

type placeCall = call[PlaceRequest, Placement]

// wish is a call while one transaction decides it.
type wish struct {
	call *placeCall
	req  PlaceRequest
	verdict
	room int // index in the packed rooms, or -1
}

// placeTogether decides calls of one region. Most are settled by the first transaction, which waits for no session; who
// found all room there held by others looks again in one that waits, until a fresh snapshot shows no room either. Calls
// that must give a seat up are decided alone, so that they keep it when there is none to get.
func (s *Store) placeTogether(ctx context.Context, region string, calls []*placeCall) error {
	if len(calls) == 1 {
		if done, err := s.placeOne(ctx, region, calls[0]); done || err != nil {
			return err
		}
	}
	left, alone, err := s.placeAtOnce(ctx, region, calls)
	for err == nil && len(left)+len(alone) > 0 {
		if len(alone) > 0 {
			err, alone = s.placeAlone(ctx, region, alone), nil
		} else {
			alone, err = s.placeWaiting(ctx, region, left)
		}
		left = unanswered(left)
	}
	return err
}

// placeOne seats a party that waits alone, where nothing is in the way: most calls of an installation that is not busy
// are like that, and they take one round trip. A party that fills a session by itself finds no open one.
func (s *Store) placeOne(ctx context.Context, region string, c *placeCall) (done bool, err error) {
	r := c.req
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
	c.answer(Placement{
		SessionID: sessionID(region, rows[0].ID), SessionHandle: rows[0].Handle, Endpoint: rows[0].Endpoint, Region: region,
		Mode: r.Mode, PlayerCount: int(rows[0].PlayerCount), MaxPlayers: r.MaxPlayers,
	}, nil)
	return true, nil
}

func (s *Store) placeAlone(ctx context.Context, region string, calls []*placeCall) error {
	for _, c := range calls {
		for !c.answered {
			if _, err := s.placeWaiting(ctx, region, []*placeCall{c}); err != nil {
				return err
			}
		}
	}
	return nil
}

// placeAtOnce fills open sessions that nobody else is filling. Where nobody else may open sessions meanwhile, and no
// room is held by others, it also opens new ones and refuses those whom nothing takes. Calls about players that another
// transaction decides about right now are in neither list: they go into the next flight.
func (s *Store) placeAtOnce(ctx context.Context, region string, calls []*placeCall) (left, alone []*placeCall, err error) {
	var decided, open []*wish
	err = s.inTx(ctx, func(q *Queries) error {
		p := placing{s, q, region}
		c, opening := &claim{}, shapesOf(calls)
		if err := p.claim(ctx, c, calls, opening); err != nil {
			return err
		}
		wishes, err := p.judge(calls, c)
		if err != nil {
			return err
		}
		decided, open, alone = sortOut(wishes)
		b, all := p.heldRooms(c.rooms)
		if all && c.mayOpenAll(calls, opening) && !playElsewhere(open) {
			err = p.settle(ctx, b, open, decided, nil)
		} else {
			err = p.write(b, b.pack(open), decided)
		}
		decided = append(decided, open...)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	answerAll(decided)
	for _, w := range open {
		if !w.call.answered {
			left = append(left, w.call)
		}
	}
	return left, alone, nil
}

// claim asks all at once for what a flight begins with, and for the rooms that its calls may need. What players hold
// already is only known with the answer: a few rooms too many are locked for those who need none.
func (p placing) claim(ctx context.Context, c *claim, calls []*placeCall, opening []shape) error {
	var out pipeline
	c.ask(&out, p.region, calls, opening)
	k := keys{}
	for _, call := range calls {
		k.add(call.req, 1)
	}
	ask(&out, &c.rooms, (*Queries).FillOpenSessions, FillOpenSessionsParams{
		Region: p.region, Modes: k.modes, MaxPlayers: k.maxPlayers, Sizes: k.sizes, Parties: k.parties,
	})
	return out.send(ctx, p.q)
}

func shapesOf(calls []*placeCall) (shapes []shape) {
	for _, c := range calls {
		if sh := c.req.shape(); !slices.Contains(shapes, sh) {
			shapes = append(shapes, sh)
		}
	}
	return shapes
}

func (r PlaceRequest) shape() shape { return shape{r.Mode, r.MaxPlayers} }

// heldRooms is the board of the rooms this transaction holds, and whether these are all there are.
func (p placing) heldRooms(rows []FillOpenSessionsRow) (b *board, all bool) {
	b, all = newBoard(p.region), true
	for _, r := range rows {
		if all = all && r.Held; r.Held {
			b.addRoom(room{shape{r.Mode, int(r.MaxPlayers)}, r.ID, int(r.PlayerCount), alreadyOpen}, r.Handle, r.Endpoint)
		}
	}
	return b, all
}

// playElsewhere tells whether there are players who may not be put into all of the rooms: more had to be looked at.
func playElsewhere(wishes []*wish) bool {
	return slices.ContainsFunc(wishes, func(w *wish) bool { return len(w.playedIn) > 0 })
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
			w.call.answer(Placement{}, w.err)
		case w.answer != nil:
			w.call.answer(*w.answer, nil)
		}
	}
}

// placing is one transaction of placement.
type placing struct {
	*Store
	q      *Queries
	region string
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
		b.decided(seated, p.cfg.Timing.SeatTTL).write(p.q.putOff())
	}
	for _, w := range seated {
		w.answer = b.placement(w.room)
	}
	return p.storeAnswers(p.q.putOff(), append(slices.Clip(decided), seated...))
}
