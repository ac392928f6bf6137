package db

import (
	"hash/fnv"
	"slices"
	"strconv"

	"github.com/lattice-director/director/db/internal/pack"
	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
)

// lockedBatch is what a batch has locked and read before anything is decided about its calls.
type lockedBatch struct {
	grantedRequests  []int32 // the numbers of what was granted, see lockNumbers
	storedAnswers    []query.StoredAnswersRow
	nearbySeats      []query.SeatsAroundRow
	fillableSessions []query.FillOpenSessionsRow
}

// queue adds the statements with which every placement transaction begins to a pipeline: they lock the players of the
// calls, and the right to open sessions of the shapes. The locks come first, so that the statements after them see what
// the last holders of the locks wrote.
func (l *lockedBatch) queue(p *tx.Pipeline, region string, calls []*placeCall, shapes []pack.Shape) {
	query.Queue(p, &l.grantedRequests, (*query.Queries).TryLocks, locksOf(region, calls, shapes))
	if arg := storedAnswersParams(calls); len(arg.Keys) > 0 {
		query.Queue(p, &l.storedAnswers, (*query.Queries).StoredAnswers, arg)
	}
	arg := query.SeatsAroundParams{Region: region}
	for _, call := range calls {
		arg.Subs = append(arg.Subs, call.Req.Party...)
		arg.Callers = append(arg.Callers, call.Req.Caller)
	}
	query.Queue(p, &l.nearbySeats, (*query.Queries).SeatsAround, arg)
}

// locksOf returns the locks of a batch, numbered by lockNumbers. A call that shares a player with an older call of the
// batch requests no lock and so gets none.
func locksOf(region string, calls []*placeCall, shapes []pack.Shape) query.TryLocksParams {
	var arg query.TryLocksParams
	numbers := lockNumbers{callCount: len(calls)}
	taken := map[int64]bool{}
	for i, c := range calls {
		locks := playerLocks(c.Req)
		// The older call decides first. This one is decided by the next batch, with what the older one has changed.
		if slices.ContainsFunc(locks, func(l int64) bool { return taken[l] }) {
			continue
		}
		for _, l := range locks {
			taken[l] = true
			arg.Requests = append(arg.Requests, numbers.ofCall(i))
			arg.Locks = append(arg.Locks, l)
		}
	}
	for i, sh := range shapes {
		arg.Requests = append(arg.Requests, numbers.ofShape(i))
		arg.Locks = append(arg.Locks, openerLock(region, sh))
	}
	return arg
}

// lockNumbers numbers the locks that a batch requests of TryLocks, which returns the numbers of those it granted: first
// the calls, each with all its locks, then the rights to open sessions of a shape.
type lockNumbers struct{ callCount int }

func (n lockNumbers) ofCall(index int) int32 { return int32(index) }

func (n lockNumbers) ofShape(index int) int32 { return int32(n.callCount + index) }

// callOf returns the index of the call that has a number; ok is false where the number is that of a right to open.
func (n lockNumbers) callOf(number int32) (index int, ok bool) {
	return int(number), int(number) < n.callCount
}

// mayOpen reports for each shape whether this transaction has the right to open sessions.
func (l *lockedBatch) mayOpen(calls []*placeCall, shapes []pack.Shape) map[pack.Shape]bool {
	numbers := lockNumbers{callCount: len(calls)}
	may := map[pack.Shape]bool{}
	for i, sh := range shapes {
		may[sh] = slices.Contains(l.grantedRequests, numbers.ofShape(i))
	}
	return may
}

// newRequests returns a request with its verdict for each call whose locks were granted, oldest first. The verdict of a
// call that has seats or a stored answer already is that answer. Calls whose players avoid those of an older call get
// no request.
func (p placing) newRequests(calls []*placeCall, l *lockedBatch) ([]*request, error) {
	numbers := lockNumbers{callCount: len(calls)}
	var requests []*request
	// Oldest first: TryLocks returns the numbers in any order.
	for _, number := range slices.Sorted(slices.Values(l.grantedRequests)) {
		if i, ok := numbers.callOf(number); ok {
			requests = append(requests, &request{call: calls[i], placeRequest: calls[i].Req, packedIndex: -1})
		}
	}
	if err := replayAnswers(requests, l.storedAnswers); err != nil {
		return nil, err
	}
	seats := byPlayer(l.nearbySeats)
	for _, r := range requests {
		if !r.verdict.isDecided() {
			r.verdict = resumePlacement(r.placeRequest, seats.seatsAround(r.placeRequest), p.store.cfg.MaxReserved)
		}
	}
	requests = p.avoidedPlayers.separate(requests)
	p.avoidedPlayers.exclude(requests)
	return requests, nil
}

// seatsByPlayer finds seats by their player, and by the caller that reserved them for another player.
type seatsByPlayer struct {
	ownSeats, reservedBy map[string][]query.SeatsAroundRow
}

// byPlayer returns the seats by their players, and by the callers that have reserved them.
func byPlayer(rows []query.SeatsAroundRow) seatsByPlayer {
	s := seatsByPlayer{map[string][]query.SeatsAroundRow{}, map[string][]query.SeatsAroundRow{}}
	for _, st := range rows {
		s.ownSeats[st.Sub] = append(s.ownSeats[st.Sub], st)
		// A seat that a player has reserved for itself is in ownSeats already.
		if st.State == "reserved" && st.ReservedBy != st.Sub {
			s.reservedBy[st.ReservedBy] = append(s.reservedBy[st.ReservedBy], st)
		}
	}
	return s
}

// seatsAround returns the seats of the party's members, and those that the caller has reserved for other players.
func (s seatsByPlayer) seatsAround(r PlaceRequest) []query.SeatsAroundRow {
	var around []query.SeatsAroundRow
	for _, sub := range r.Party {
		around = append(around, s.ownSeats[sub]...)
	}
	// The request gives these up as well.
	for _, st := range s.reservedBy[r.Caller] {
		if !slices.Contains(r.Party, st.Sub) {
			around = append(around, st)
		}
	}
	return around
}

// playerLocks are the advisory locks of a request: one for each player in the mode, and one for its idempotency key.
// Requests whose keys collide by chance are only decided one after the other.
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

func openerLock(region string, sh pack.Shape) int64 {
	return lockKey("open", region, sh.Mode, strconv.Itoa(sh.MaxPlayers))
}

func lockKey(parts ...string) int64 {
	h := fnv.New64a()
	for _, s := range parts {
		_, _ = h.Write([]byte(s))
		// Separates the parts: "ab", "c" and "a", "bc" are two keys.
		_, _ = h.Write([]byte{0})
	}
	return int64(h.Sum64())
}
