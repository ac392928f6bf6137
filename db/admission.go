package db

import (
	"context"
	"time"

	"github.com/lattice-director/director/db/internal/batch"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// Where is a player stopped who is not admitted? Each way into the queue or to a seat calls admit before it decides
// anything: Place, CreatePlayerTicket, CreateLobbyTicket, EnqueueRealtime and CreateTicket. A room whose members queue
// by an action is judged in the transaction of the action, by refuseUnadmitted.

// arrival is who wants to enter.
type arrival struct {
	region, build string   // that decide about the valve
	callerSub     string   // "": a ticket without a player
	partySubs     []string // with the caller; nil: it is alone
	// isVouched lets every player of the party have a place in the line, since more than the caller's word says that
	// they are there. The others need one of their own: else a caller would fill the line with names.
	isVouched bool
}

// players returns the players of an arrival, the caller first, and how many of them get a place.
func (a arrival) players() (subs []string, joining int) {
	if a.callerSub == "" {
		return nil, 0
	}
	subs = []string{a.callerSub}
	for _, sub := range a.partySubs {
		if sub != a.callerSub {
			subs = append(subs, sub)
		}
	}
	if a.isVouched {
		return subs, len(subs)
	}
	return subs, 1
}

// admit returns nil if all players are admitted. Where no valve limits, it costs a look at the replica's memory.
// Errors: TooMany, "not_admitted", with the place of the caller, and "login_queue_full"; Unavailable.
func (s *Store) admit(ctx context.Context, a arrival) error {
	line, err := s.DecidingLine(ctx, a.region, a.build)
	if err != nil || line == nil {
		return err
	}
	subs, joining := a.players()
	got, err := s.batchGroups.admissions.Do(ctx, line.row.Name,
		admissionRequest{playerSubs: subs, joiningCount: joining})
	if err != nil {
		return err
	}
	for i, sub := range subs {
		// join_login_queue adds no row when the line is full, or when the valve was opened since this replica read it:
		// refuseFull tells the two apart.
		if i < joining && !got[i].isKnown {
			return s.refuseFull(ctx, a.region, a.build, line)
		}
		if !got[i].isAdmitted {
			return refuseWaiting(line, sub, i == 0, got[i])
		}
	}
	if len(subs) == 0 && !got[0].isAdmitted {
		return &fault.Error{Kind: fault.TooMany, Code: CodeNotAdmitted, RetryAfter: time.Second,
			Detail: "the login queue " + line.row.Name + " has no admission to spare for a ticket without a player"}
	}
	return nil
}

// CodeNotAdmitted is the code of the answer to players who wait in a login queue.
const CodeNotAdmitted = "not_admitted"

// refuseFull returns the error of a player who got no place: the line is full, unless the valve lets everybody in
// since.
func (s *Store) refuseFull(ctx context.Context, region, build string, line *LoginLine) error {
	r, err := s.renewLines(ctx, time.Now())
	if err != nil {
		return err
	}
	if now := r.deciding(region, build); now.row.Name != line.row.Name || now.row.Mode == ValveOpen {
		return nil
	}
	const untilRoom = 30 * time.Second
	e := fault.New(fault.TooMany, "login_queue_full", "the login queue %s holds all of its %d players: ask again later",
		line.row.Name, line.row.MaxWaiting)
	e.RetryAfter = untilRoom
	return e
}

// refuseWaiting returns the error of a party with a player who is not admitted: the caller, or another member.
func refuseWaiting(line *LoginLine, sub string, isCaller bool, got admission) error {
	if !got.isKnown {
		e := fault.New(fault.TooMany, CodeNotAdmitted,
			"player %q of the party has no place in the login queue %s: each player joins it",
			sub, line.row.Name)
		e.RetryAfter = askAfter(nil)
		return e
	}
	p := line.place(got.placeNumber, got.isStaff)
	e := fault.New(fault.TooMany, CodeNotAdmitted, "you are number %d in the login queue %s", p.Position, p.Valve)
	e.Place = p
	if !isCaller {
		e = fault.New(fault.TooMany, CodeNotAdmitted, "player %q of the party is number %d in the login queue %s", sub,
			p.Position, p.Valve)
	}
	e.RetryAfter = p.AskAfter
	return e
}

// admission is the row of a player.
type admission struct {
	isKnown     bool // there is one
	isAdmitted  bool
	isStaff     bool
	placeNumber int64
}

// admissionRequest asks for the rows of players in the line of a valve.
type admissionRequest struct {
	playerSubs   []string // none: an admission without a player
	joiningCount int      // the first so many get a row if they have none
	isStaff      bool     // those that get one are staff
	isLeaving    bool     // the rows are deleted instead
}

func (r admissionRequest) players() int { return max(1, len(r.playerSubs)) }

func (r admissionRequest) bytes() int { return textBytes(r.playerSubs...) }

type admissionCall = batch.Call[admissionRequest, []admission]

// decideAdmissions decides the calls of a valve that wait together. Players with a row cost a shared statement without
// a lock; those without one share one lock of the line. Each statement is a transaction, so that no client that freezes
// holds the line.
func (s *Store) decideAdmissions(ctx context.Context, valve string, calls []*admissionCall) error {
	turn := admissionTurn{valveName: valve, q: s.q, rows: map[string]query.ReadAdmissionsRow{}}
	if err := turn.decide(ctx, calls); err != nil {
		return err
	}
	for _, c := range calls {
		c.Answer(turn.answer(c.Req), nil)
	}
	return nil
}

func subsOf(calls []*admissionCall) (subs []string) {
	for _, c := range calls {
		if !c.Req.isLeaving {
			subs = append(subs, c.Req.playerSubs...)
		}
	}
	return subs
}

// admissionTurn is a batch of calls about the line of a valve.
type admissionTurn struct {
	valveName          string
	q                  *query.Queries
	rows               map[string]query.ReadAdmissionsRow
	namelessAdmissions int             // admissions without a player that are left to give
	departedSubs       map[string]bool // players whose rows this batch deleted
}

// decide reads and changes the rows of the players of all calls.
func (t *admissionTurn) decide(ctx context.Context, calls []*admissionCall) error {
	if err := t.leave(ctx, calls); err != nil {
		return err
	}
	if err := t.read(ctx, subsOf(calls)); err != nil {
		return err
	}
	if err := t.extend(ctx); err != nil {
		return err
	}
	return t.join(ctx, calls)
}

// leave deletes the rows of the players that leave.
func (t *admissionTurn) leave(ctx context.Context, calls []*admissionCall) error {
	t.departedSubs = map[string]bool{}
	var leaving []string
	for _, c := range calls {
		if c.Req.isLeaving {
			leaving = append(leaving, c.Req.playerSubs...)
		}
	}
	if len(leaving) == 0 {
		return nil
	}
	// Read before they are deleted: the answer to a call that leaves says whether there was a row.
	if err := t.read(ctx, leaving); err != nil {
		return err
	}
	for sub := range t.rows {
		t.departedSubs[sub] = true
	}
	// Another call of this batch may name the same players: it must not find rows that are about to go.
	clear(t.rows)
	_, err := t.q.LeaveLoginQueue(ctx, query.LeaveLoginQueueParams{Valve: t.valveName, Subs: leaving})
	return err
}

func (t *admissionTurn) read(ctx context.Context, subs []string) error {
	if len(subs) == 0 {
		return nil
	}
	found, err := t.q.ReadAdmissions(ctx, query.ReadAdmissionsParams{Valve: t.valveName, Subs: subs})
	for _, r := range found {
		t.rows[r.Sub] = r
	}
	return err
}

// extend keeps the rows of which less than the promised time is left.
func (t *admissionTurn) extend(ctx context.Context) error {
	var fading []string
	for sub, r := range t.rows {
		if r.IsFading {
			fading = append(fading, sub)
		}
	}
	if len(fading) == 0 {
		return nil
	}
	return t.q.ExtendAdmissions(ctx, query.ExtendAdmissionsParams{Valve: t.valveName, Subs: fading})
}

// join gives places to players without one, in the order of their calls.
func (t *admissionTurn) join(ctx context.Context, calls []*admissionCall) error {
	p := query.JoinLoginQueueParams{Valve: t.valveName, Subs: []string{}, AreStaff: []bool{}}
	added := map[string]bool{}
	for _, c := range calls {
		if len(c.Req.playerSubs) == 0 {
			p.Nameless++
		}
		for _, sub := range c.Req.playerSubs[:c.Req.joiningCount] {
			// Two calls of the batch may name the same player, and join_login_queue inserts each name that it gets.
			if _, known := t.rows[sub]; !known && !added[sub] {
				added[sub] = true
				p.Subs = append(p.Subs, sub)
				p.AreStaff = append(p.AreStaff, c.Req.isStaff)
			}
		}
	}
	if len(p.Subs) == 0 && p.Nameless == 0 {
		return nil
	}
	admitted, err := t.q.JoinLoginQueue(ctx, p)
	if err != nil {
		return err
	}
	t.namelessAdmissions = int(admitted)
	// Read again: the same call has admitted as many as the valve has room for, perhaps some of the new rows.
	return t.read(ctx, p.Subs)
}

func (t *admissionTurn) answer(r admissionRequest) []admission {
	if len(r.playerSubs) == 0 {
		// The first calls of the batch get the admissions that there are.
		t.namelessAdmissions--
		return []admission{{isAdmitted: t.namelessAdmissions >= 0}}
	}
	got := make([]admission, len(r.playerSubs))
	for i, sub := range r.playerSubs {
		row, known := t.rows[sub]
		got[i] = admission{known || r.isLeaving && t.departedSubs[sub], row.Admitted, row.IsStaff, row.Place}
	}
	return got
}
