package db

import (
	"hash/fnv"
	"slices"
	"strconv"

	"github.com/lattice-director/director/db/internal/tx"
)

// claim is what the calls of a flight need before anything is decided about them.
type claim struct {
	granted []int32 // requests that got their locks, see locksOf
	stored  []StoredAnswersRow
	around  []SeatsAroundRow
	rooms   []FillOpenSessionsRow
}

// ask puts what all transactions of placement begin with into a pipeline. The locks come first, so that the rest sees
// what their last holders did.
func (c *claim) queue(p *tx.Pipeline, region string, calls []*placeCall, opening []shape) {
	queue(p, &c.granted, (*Queries).TryLocks, locksOf(region, calls, opening))
	if arg := answersOf(calls); len(arg.Keys) > 0 {
		queue(p, &c.stored, (*Queries).StoredAnswers, arg)
	}
	arg := SeatsAroundParams{Region: region}
	for _, call := range calls {
		arg.Subs = append(arg.Subs, call.Req.Party...)
		arg.Callers = append(arg.Callers, call.Req.Caller)
	}
	queue(p, &c.around, (*Queries).SeatsAround, arg)
}

// locksOf are the locks of a flight: those of call i are request i, and the right to open sessions of the i-th shape is
// request len(calls)+i. A call about a player whom an older one of this flight is about asks for none, and gets none.
func locksOf(region string, calls []*placeCall, opening []shape) TryLocksParams {
	var arg TryLocksParams
	taken := map[int64]bool{}
	for i, c := range calls {
		locks := playerLocks(c.Req)
		if slices.ContainsFunc(locks, func(l int64) bool { return taken[l] }) {
			continue
		}
		for _, l := range locks {
			taken[l] = true
			arg.Requests = append(arg.Requests, int32(i))
			arg.Locks = append(arg.Locks, l)
		}
	}
	for i, sh := range opening {
		arg.Requests = append(arg.Requests, int32(len(calls)+i))
		arg.Locks = append(arg.Locks, openerLock(region, sh))
	}
	return arg
}

// mayOpen tells which of the shapes this transaction got the right to open sessions of.
func (c *claim) mayOpen(calls []*placeCall, opening []shape) map[shape]bool {
	may := map[shape]bool{}
	for i, sh := range opening {
		may[sh] = slices.Contains(c.granted, int32(len(calls)+i))
	}
	return may
}

// judge makes wishes of the calls that nobody else decides about, oldest first, and answers those that have a seat or
// an answer already.
func (p placing) judge(calls []*placeCall, c *claim) ([]*wish, error) {
	slices.Sort(c.granted)
	var wishes []*wish
	for _, n := range c.granted {
		if int(n) < len(calls) {
			wishes = append(wishes, &wish{call: calls[n], req: calls[n].Req, room: -1})
		}
	}
	if err := replay(wishes, c.stored); err != nil {
		return nil, err
	}
	seats := byPlayer(c.around)
	for _, w := range wishes {
		if w.answer == nil && w.err == nil {
			w.verdict = resume(w.req, seats.around(w.req), p.cfg.MaxReserved)
		}
	}
	return wishes, nil
}

// seatsByPlayer finds seats by who sits there, and by who reserved them for somebody else.
type seatsByPlayer struct{ of, reservedBy map[string][]SeatsAroundRow }

func byPlayer(rows []SeatsAroundRow) seatsByPlayer {
	s := seatsByPlayer{map[string][]SeatsAroundRow{}, map[string][]SeatsAroundRow{}}
	for _, st := range rows {
		s.of[st.Sub] = append(s.of[st.Sub], st)
		if st.State == "reserved" && st.ReservedBy != st.Sub {
			s.reservedBy[st.ReservedBy] = append(s.reservedBy[st.ReservedBy], st)
		}
	}
	return s
}

func (s seatsByPlayer) around(r PlaceRequest) []SeatsAroundRow {
	var mine []SeatsAroundRow
	for _, sub := range r.Party {
		mine = append(mine, s.of[sub]...)
	}
	for _, st := range s.reservedBy[r.Caller] {
		if !slices.Contains(r.Party, st.Sub) {
			mine = append(mine, st)
		}
	}
	return mine
}

// playerLocks are the advisory locks of a request: one a player and mode, and one for its idempotency key. Two that
// fall together by chance only wait for each other.
func playerLocks(r PlaceRequest) []int64 {
	locks := make([]int64, 0, len(r.Party)+1)
	for _, sub := range r.Party {
		locks = append(locks, lockKey("seat", r.Region, r.Mode, sub))
	}
	if r.IdempotencyKey != "" {
		locks = append(locks, lockKey("idempotency", r.Caller, r.IdempotencyKey))
	}
	return locks
}

func openerLock(region string, sh shape) int64 {
	return lockKey("open", region, sh.mode, strconv.Itoa(sh.maxPlayers))
}

func lockKey(parts ...string) int64 {
	h := fnv.New64a()
	for _, s := range parts {
		_, _ = h.Write([]byte(s))
		_, _ = h.Write([]byte{0})
	}
	return int64(h.Sum64())
}
