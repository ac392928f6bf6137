package db

import (
	"context"
	"errors"
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

// placeTogether decides calls of one region. Most are seated by the first transaction, which waits for nobody; who
// found no room there looks again in one that waits, until a fresh snapshot shows no room either. Calls that must give
// a seat up are decided alone, so that they keep it when there is none to get.
func (s *Store) placeTogether(ctx context.Context, region string, calls []*placeCall) error {
	left, alone, err := s.fillOnce(ctx, region, calls)
	for err == nil && len(left)+len(alone) > 0 {
		if len(alone) > 0 {
			err, alone = s.placeAlone(ctx, region, alone), nil
		} else {
			alone, err = s.openOnce(ctx, region, left)
		}
		left = unanswered(left)
	}
	return err
}

func (s *Store) placeAlone(ctx context.Context, region string, calls []*placeCall) error {
	for _, c := range calls {
		for !c.answered {
			if _, err := s.openOnce(ctx, region, []*placeCall{c}); err != nil {
				return err
			}
		}
	}
	return nil
}

// fillOnce answers what needs no new session. Calls about players that another transaction decides about right now
// are in neither list: they go into the next flight.
func (s *Store) fillOnce(ctx context.Context, region string, calls []*placeCall) (left, alone []*placeCall, err error) {
	var decided, open []*wish
	err = s.inTx(ctx, func(q *Queries) error {
		p := placing{s, q, region}
		wishes, err := p.claim(ctx, calls)
		if err != nil {
			return err
		}
		decided, open, alone = sortOut(wishes)
		seated, err := p.fill(ctx, open)
		if err != nil {
			return err
		}
		decided = append(decided, seated...)
		return p.storeAnswers(ctx, decided)
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

// errKeepSeats rolls a transaction back that would give seats up for nothing.
var errKeepSeats = errors.New("no seat to get for the seats given up")

// openOnce decides with the opener locks held, so that no other replica opens sessions of these shapes meanwhile. A
// call it leaves unanswered found room that others held or took while it looked, or must give a seat up and is not
// the only one.
func (s *Store) openOnce(ctx context.Context, region string, calls []*placeCall) (alone []*placeCall, err error) {
	var decided, open []*wish
	claimed := 0
	err = s.inTx(ctx, func(q *Queries) error {
		p := placing{s, q, region}
		wishes, err := p.claim(ctx, calls)
		if err != nil {
			return err
		}
		claimed = len(wishes)
		decided, open, alone = sortOut(wishes)
		if len(calls) == 1 && len(alone) == 1 {
			open, alone = wishes, nil
		}
		if err := p.open(ctx, open); err != nil {
			return err
		}
		decided = append(decided, open...)
		if len(open) == 1 && open[0].answer == nil && len(open[0].giveUp) > 0 {
			return errKeepSeats
		}
		return p.storeAnswers(ctx, decided)
	})
	if err != nil && !errors.Is(err, errKeepSeats) {
		return nil, err
	}
	answerAll(decided)
	if claimed == 0 {
		// Another replica decides about these very players.
		pause(ctx, busyPause)
	}
	return alone, ctx.Err()
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

// fill seats wishes in open sessions that nobody else is filling, and answers those it seated.
func (p placing) fill(ctx context.Context, wishes []*wish) ([]*wish, error) {
	if len(wishes) == 0 {
		return nil, nil
	}
	k := wanted(wishes)
	rows, err := p.q.FillOpenSessions(ctx, FillOpenSessionsParams{
		Region: p.region, Modes: k.modes, MaxPlayers: k.maxPlayers, Sizes: k.sizes, Parties: k.parties,
	})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	b := newBoard(p.region)
	for _, r := range rows {
		b.addRoom(room{shape{r.Mode, int(r.MaxPlayers)}, r.ID, int(r.PlayerCount), alreadyOpen}, r.Handle, r.Endpoint)
	}
	seated := b.pack(wishes)
	if len(seated) == 0 {
		return nil, nil
	}
	return seated, p.write(ctx, b, seated)
}

// keys is what wishes ask for, a row for each shape and party size.
type keys struct {
	modes      []string
	maxPlayers []int32
	sizes      []int32
	parties    []int32
}

func wanted(wishes []*wish) keys {
	type kind struct {
		shape
		size int
	}
	count := map[kind]int{}
	for _, w := range wishes {
		// Sessions a member already plays in may be among those found: look for one more each.
		count[kind{shape{w.req.Mode, w.req.MaxPlayers}, len(w.req.Party)}] += 1 + len(w.playedIn)
	}
	var k keys
	for kd, n := range count {
		k.modes = append(k.modes, kd.mode)
		k.maxPlayers = append(k.maxPlayers, int32(kd.maxPlayers))
		k.sizes = append(k.sizes, int32(kd.size))
		k.parties = append(k.parties, int32(n))
	}
	return k
}

// write stores what the board decided for the wishes, and fills in their answers.
func (p placing) write(ctx context.Context, b *board, seated []*wish) error {
	arg := b.placements(seated)
	arg.Region, arg.SeatTtl = p.region, p.cfg.Timing.SeatTTL
	if err := p.q.WritePlacements(ctx, arg); err != nil {
		return err
	}
	if len(arg.OpenedInstances) > 0 {
		if err := p.q.RefreshShares(ctx, RefreshSharesParams{Region: p.region, InstanceIds: arg.OpenedInstances}); err != nil {
			return err
		}
	}
	for _, w := range seated {
		w.answer = b.placement(w.room)
	}
	return nil
}
