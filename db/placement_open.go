package db

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/batch"
	"github.com/lattice-director/director/db/internal/tx"
)

// errKeepSeats rolls a transaction back that would give seats up for nothing.
var errKeepSeats = errors.New("no seat to get for the seats given up")

// impatient is how long a batch waits for a lock when it has waited in vain for another before.
const impatient = time.Millisecond

// openBatch decides calls of one region that must wait for other transactions: for the right to open sessions, for
// sessions that others fill, or to give seats up. All of them share one transaction, however many shapes they ask for, so
// that transactions grow with regions. Its waiting is bounded by the LockWait: after it, whatever can be decided
// without the lock that somebody sits on is decided, and the rest goes into the next batch, which waits for it anew. Calls
// that must give a seat up are decided alone, so that they keep it when there is none to get.
func (s *Store) openBatch(ctx context.Context, region string, calls []*placeCall) error {
	calls = s.refuseOld(calls)
	if len(calls) == 0 {
		return nil
	}
	patience := s.cfg.LockWait
	alone, err := s.placeWaiting(ctx, region, calls, patience)
	if isLockTimeout(err) {
		patience = impatient
		_, alone, err = s.placeAtOnce(ctx, region, calls, true)
	}
	for _, c := range alone {
		if err != nil {
			return err
		}
		if _, err = s.placeWaiting(ctx, region, []*placeCall{c}, patience); isLockTimeout(err) {
			patience, err = impatient, nil
		}
	}
	return err
}

// refuseOld answers calls that have been waiting for as long as a batch may take, and returns the others.
func (s *Store) refuseOld(calls []*placeCall) []*placeCall {
	for _, c := range calls {
		if time.Since(c.Queued) > s.cfg.BatchTimeout {
			c.Answer(Placement{}, unavailable("no decision in time", nil))
		}
	}
	return batch.Unanswered(calls)
}

// placeWaiting is one transaction that holds the opener locks, so that no other opens sessions of these shapes meanwhile,
// and waits for what others hold. It fails with a lock timeout when it waits for one lock for longer than patience. A call
// that it leaves unanswered found room that others took while it looked, or is about players whom another transaction
// decides about, or must give a seat up and is not the only one.
func (s *Store) placeWaiting(ctx context.Context, region string, calls []*placeCall, patience time.Duration) (alone []*placeCall, err error) {
	var decided, open []*wish
	err = s.inTx(ctx, func(q *Queries) error {
		p := placing{Store: s, q: q, region: region, wait: true}
		var out tx.Pipeline
		c := &claim{}
		queueExec(&out, (*Queries).LimitLockWait, max(1, int32(patience.Milliseconds())))
		c.queue(&out, region, calls, nil)
		if err := q.send(ctx, &out); err != nil {
			return err
		}
		wishes, err := p.judge(calls, c)
		if err != nil {
			return err
		}
		decided, open, alone = sortOut(wishes)
		if len(calls) == 1 && len(alone) == 1 {
			open, alone = wishes, nil
		}
		err = p.open(ctx, open, decided)
		decided = append(decided, open...)
		return err
	})
	if err != nil && !errors.Is(err, errKeepSeats) {
		return nil, err
	}
	answerAll(decided)
	return alone, nil
}

// open seats wishes in open sessions, waiting for those that others fill, and then in new ones, and gives up what their
// players give up.
func (p placing) open(ctx context.Context, wishes, decided []*wish) error {
	if len(wishes) == 0 {
		return p.write(nil, nil, decided)
	}
	locks := make([]int64, len(wishes))
	for i, w := range wishes {
		locks[i] = openerLock(p.region, w.req.shape())
	}
	if err := p.q.WaitForOpeners(ctx, locks); err != nil {
		return err
	}
	b, givenUp, err := p.lockRooms(ctx, wishes)
	if err != nil {
		return err
	}
	if err := p.settle(ctx, b, wishes, decided, givenUp); err != nil {
		return err
	}
	if len(wishes) == 1 && wishes[0].answer == nil && len(wishes[0].giveUp) > 0 {
		return errKeepSeats
	}
	return nil
}

// settle seats wishes in the rooms of the board and then in new ones, where they may open these. It says NoCapacity to
// those a fresh snapshot shows no room for, and leaves the others without an answer.
func (p placing) settle(ctx context.Context, b *board, wishes, decided []*wish, givenUp []givenUpRoom) error {
	seated := b.pack(wishes)
	homeless := withoutRoom(wishes)
	if len(homeless) > 0 {
		if err := p.lockHosts(ctx, b, homeless, givenUp); err != nil {
			return err
		}
		seated = b.pack(wishes)
	}
	if err := p.write(b, seated, decided); err != nil {
		return err
	}
	homeless = withoutRoom(wishes)
	if len(givenUp)+len(homeless) == 0 {
		return nil
	}
	if err := p.q.flush(ctx); err != nil {
		return err
	}
	if len(givenUp) > 0 {
		if _, err := p.q.CloseEmptySessions(ctx, CloseEmptySessionsParams{Region: p.region, Ids: roomIDs(givenUp)}); err != nil {
			return err
		}
	}
	return p.refuse(ctx, homeless)
}

// withoutRoom gives the wishes that have no room and that a session may be opened for.
func withoutRoom(wishes []*wish) (homeless []*wish) {
	for _, w := range wishes {
		if w.room < 0 && !w.fillOnly {
			homeless = append(homeless, w)
		}
	}
	return homeless
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

// lockHosts locks instances that could open sessions for the wishes, together with those that get room back
// because a session that was given up is empty now; then closes these sessions. Afterwards it reads the instances that it
// holds again, since some have more room now, but locks no others: one of them could come before these in the lock order.
func (p placing) lockHosts(ctx context.Context, b *board, wishes []*wish, givenUp []givenUpRoom) error {
	k := wanted(wishes)
	arg := LockHostsParams{Region: p.region, Modes: k.modes, MaxPlayers: k.maxPlayers, Sessions: p.withSpare(k.sessions()), Wait: p.wait}
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
			rows, err = p.q.LockHosts(ctx, LockHostsParams{Region: p.region, Also: hostIDs(rows), Wait: p.wait})
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

func hostIDs(rows []LockHostsRow) []string {
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	return ids
}

// refuse says NoCapacity to wishes that a fresh snapshot shows no room for, whoever holds it.
func (p placing) refuse(ctx context.Context, wishes []*wish) error {
	arg := StillPlaceableParams{Region: p.region}
	for i, w := range wishes {
		arg.Requests = append(arg.Requests, int32(i))
		arg.Modes = append(arg.Modes, w.req.Mode)
		arg.MaxPlayers = append(arg.MaxPlayers, int32(w.req.MaxPlayers))
		arg.Sizes = append(arg.Sizes, int32(len(w.req.Party)))
		for _, session := range w.playedIn {
			arg.Players, arg.PlayedIn = append(arg.Players, int32(i)), append(arg.PlayedIn, session)
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
