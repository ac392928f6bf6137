package db

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"hash/fnv"
	"slices"
	"strconv"

	"github.com/google/uuid"
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

// replay answers requests whose idempotency key has a stored answer.
func (p placing) replay(ctx context.Context, wishes []*wish) error {
	var arg StoredAnswersParams
	for _, w := range wishes {
		if w.req.IdempotencyKey != "" {
			arg.Callers, arg.Keys = append(arg.Callers, w.req.Caller), append(arg.Keys, w.req.IdempotencyKey)
		}
	}
	if len(arg.Keys) == 0 {
		return nil
	}
	stored, err := p.q.StoredAnswers(ctx, arg)
	if err != nil {
		return err
	}
	for _, w := range wishes {
		i := slices.IndexFunc(stored, func(a StoredAnswersRow) bool { return a.Caller == w.req.Caller && a.Key == w.req.IdempotencyKey })
		switch {
		case i < 0:
		case !bytes.Equal(stored[i].RequestHash, w.req.RequestHash):
			w.err = newError(Mismatch, "idempotency_mismatch", "this Idempotency-Key was used with another body")
		default:
			w.answer = new(Placement)
			if err := json.Unmarshal(stored[i].Answer, w.answer); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p placing) storeAnswers(ctx context.Context, decided []*wish) error {
	arg := StoreAnswersParams{Keep: p.cfg.Timing.IdempotencyTTL}
	for _, w := range decided {
		if w.req.IdempotencyKey == "" || w.answer == nil {
			continue
		}
		body, err := json.Marshal(w.answer)
		if err != nil {
			return err
		}
		arg.Callers, arg.Keys = append(arg.Callers, w.req.Caller), append(arg.Keys, w.req.IdempotencyKey)
		arg.Hashes, arg.Answers = append(arg.Hashes, w.req.RequestHash), append(arg.Answers, string(body))
	}
	if len(arg.Keys) == 0 {
		return nil
	}
	return p.q.StoreAnswers(ctx, arg)
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

func (p placing) openerLocks(wishes []*wish) []int64 {
	locks := make([]int64, len(wishes))
	for i, w := range wishes {
		locks[i] = lockKey("open", p.region, w.req.Mode, strconv.Itoa(w.req.MaxPlayers))
	}
	return locks
}

// open seats wishes in open sessions, waiting for those that others fill, and then in new ones. It says NoCapacity to
// those a fresh snapshot shows no room for, and leaves the others without an answer.
func (p placing) open(ctx context.Context, wishes []*wish) error {
	if len(wishes) == 0 {
		return nil
	}
	if err := p.q.WaitForOpeners(ctx, p.openerLocks(wishes)); err != nil {
		return err
	}
	b, givenUp, err := p.lockRooms(ctx, wishes)
	if err != nil {
		return err
	}
	seated := b.pack(wishes)
	if len(seated) < len(wishes) {
		if err := p.lockHosts(ctx, b, wishes, givenUp); err != nil {
			return err
		}
		seated = b.pack(wishes)
	}
	if len(seated) > 0 {
		if err := p.write(ctx, b, seated); err != nil {
			return err
		}
	}
	if len(givenUp) > 0 {
		if _, err := p.q.CloseEmptySessions(ctx, CloseEmptySessionsParams{Region: p.region, Ids: roomIDs(givenUp)}); err != nil {
			return err
		}
	}
	return p.refuse(ctx, wishes)
}

// lockRooms locks the sessions that may be filled and those whose seats are given up, and gives these up.
func (p placing) lockRooms(ctx context.Context, wishes []*wish) (*board, []givenUpRoom, error) {
	k := wanted(wishes)
	refs := seatsGivenUp(wishes)
	rows, err := p.q.WaitForOpenSessions(ctx, WaitForOpenSessionsParams{
		Region: p.region, Modes: k.modes, MaxPlayers: k.maxPlayers, Sizes: k.sizes, Parties: k.parties, Also: refs.SessionIds,
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
	b := newBoard(p.region)
	var givenUp []givenUpRoom
	for _, r := range rows {
		players := int(r.PlayerCount) - freed[r.ID]
		if r.Fillable {
			b.addRoom(room{shape{r.Mode, int(r.MaxPlayers)}, r.ID, players, alreadyOpen}, r.Handle, r.Endpoint)
		}
		if freed[r.ID] > 0 {
			givenUp = append(givenUp, givenUpRoom{r.ID, r.InstanceID, players == 0})
		}
	}
	return b, givenUp, nil
}

// givenUpRoom is a session in which seats were given up.
type givenUpRoom struct {
	id       uuid.UUID
	instance string
	empty    bool
}

func roomIDs(rooms []givenUpRoom) []uuid.UUID {
	ids := make([]uuid.UUID, len(rooms))
	for i, r := range rooms {
		ids[i] = r.id
	}
	return ids
}

func seatsGivenUp(wishes []*wish) ReleaseSeatsParams {
	var p ReleaseSeatsParams
	for _, w := range wishes {
		for _, ref := range w.giveUp {
			p.SessionIds = append(p.SessionIds, ref.session)
			p.Subs = append(p.Subs, ref.sub)
		}
	}
	return p
}

// lockHosts locks instances that could open sessions for wishes without a room, together with those that get room back
// because a session that was given up is empty now; then closes these sessions.
func (p placing) lockHosts(ctx context.Context, b *board, wishes []*wish, givenUp []givenUpRoom) error {
	var unseated []*wish
	for _, w := range wishes {
		if w.room < 0 {
			unseated = append(unseated, w)
		}
	}
	k := wanted(unseated)
	arg := LockHostsParams{Region: p.region, Modes: k.modes, MaxPlayers: k.maxPlayers, Parties: k.parties}
	var empty []uuid.UUID
	for _, g := range givenUp {
		if g.empty {
			empty = append(empty, g.id)
			arg.Also = append(arg.Also, g.instance)
		}
	}
	rows, err := p.q.LockHosts(ctx, arg)
	if err == nil && len(empty) > 0 {
		if _, err = p.q.CloseSessions(ctx, CloseSessionsParams{Region: p.region, Ids: empty, Reason: "empty"}); err == nil {
			b.dropRooms(empty)
			rows, err = p.q.LockHosts(ctx, arg) // they have more room now, and are ours already
		}
	}
	if err != nil {
		return err
	}
	for _, r := range rows {
		if r.Open {
			b.addHost(r)
		}
	}
	return nil
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

// refuse says NoCapacity to wishes that a fresh snapshot shows no room for, whoever holds it.
func (p placing) refuse(ctx context.Context, wishes []*wish) error {
	arg := StillPlaceableParams{Region: p.region}
	for i, w := range wishes {
		if w.answer == nil {
			arg.Requests = append(arg.Requests, int32(i))
			arg.Modes = append(arg.Modes, w.req.Mode)
			arg.MaxPlayers = append(arg.MaxPlayers, int32(w.req.MaxPlayers))
			arg.Sizes = append(arg.Sizes, int32(len(w.req.Party)))
			arg.PlayedIn = append(arg.PlayedIn, w.playedIn...)
		}
	}
	if len(arg.Requests) == 0 {
		return nil
	}
	placeable, err := p.q.StillPlaceable(ctx, arg)
	if err != nil {
		return err
	}
	for _, i := range arg.Requests {
		if !slices.Contains(placeable, i) {
			w := wishes[i]
			w.err = newError(NoCapacity, "no_capacity", "no instance in region %q can host mode %q for %d players now", p.region, w.req.Mode, w.req.MaxPlayers)
		}
	}
	return nil
}
