package db

import (
	"context"
	"hash/fnv"
	"slices"
)

// claim takes the players of the calls for this transaction, as far as nobody else has them, and judges what they
// already hold.
func (p placing) claim(ctx context.Context, calls []*placeCall) ([]*wish, error) {
	wishes, err := p.lockPlayers(ctx, calls)
	if err != nil || len(wishes) == 0 {
		return nil, err
	}
	if err := p.replay(ctx, wishes); err != nil {
		return nil, err
	}
	var subs, callers []string
	for _, w := range wishes {
		subs = append(subs, w.req.Party...)
		callers = append(callers, w.req.Caller)
	}
	around, err := p.q.SeatsAround(ctx, SeatsAroundParams{Region: p.region, Subs: subs, Callers: callers})
	if err != nil {
		return nil, err
	}
	for _, w := range wishes {
		if w.answer == nil && w.err == nil {
			w.verdict = resume(w.req, seatsFor(w.req, around), p.cfg.MaxReserved)
		}
	}
	return wishes, nil
}

func seatsFor(r PlaceRequest, around []SeatsAroundRow) []SeatsAroundRow {
	var mine []SeatsAroundRow
	for _, st := range around {
		if slices.Contains(r.Party, st.Sub) || st.State == "reserved" && st.ReservedBy == r.Caller {
			mine = append(mine, st)
		}
	}
	return mine
}

func (p placing) lockPlayers(ctx context.Context, calls []*placeCall) ([]*wish, error) {
	var arg TryPlayerLocksParams
	taken := map[int64]bool{}
	for i, c := range calls {
		locks := playerLocks(c.req)
		if slices.ContainsFunc(locks, func(l int64) bool { return taken[l] }) {
			continue // an older call of this flight is about the same player
		}
		for _, l := range locks {
			taken[l] = true
			arg.Requests = append(arg.Requests, int32(i))
			arg.Locks = append(arg.Locks, l)
		}
	}
	got, err := p.q.TryPlayerLocks(ctx, arg)
	if err != nil {
		return nil, err
	}
	slices.Sort(got) // the oldest first
	wishes := make([]*wish, len(got))
	for i, n := range got {
		wishes[i] = &wish{call: calls[n], req: calls[n].req, room: -1}
	}
	return wishes, nil
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

func lockKey(parts ...string) int64 {
	h := fnv.New64a()
	for _, s := range parts {
		_, _ = h.Write([]byte(s))
		_, _ = h.Write([]byte{0})
	}
	return int64(h.Sum64())
}
