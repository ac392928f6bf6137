package db

import (
	"context"
	"time"

	"github.com/lattice-director/director/db/internal/batch"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// A player who is not admitted is refused by admit, which each call into the queue or to a seat makes before it decides
// anything: Place, CreatePlayerTicket, CreateLobbyTicket, EnqueueRealtime and CreateTicket. Rooms of the lobby queue by
// an action of a member: refuseUnadmitted refuses them, in the transaction of the action.

// arrival is the players who want to enter a queue or to get seats together.
type arrival struct {
	region, build string   // they select the valve
	callerSub     string   // "": a ticket without a player
	partySubs     []string // may contain the caller; nil: the caller is alone
	// isVouched gives every player of the party a place in the line, since more than the caller's word says that they
	// are there. Without it only the caller gets one: else a caller could fill the line with invented names.
	isVouched bool
}

// players returns the players of an arrival, the caller first. The first joiningCount of them get a place.
func (a arrival) players() (subs []string, joiningCount int) {
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

// admit returns nil if all players are admitted. Where no valve limits, it reads the replica's memory only. Errors:
// TooMany, "not_admitted", with the place of the caller, and "login_queue_full"; Unavailable.
func (s *Store) admit(ctx context.Context, a arrival) error {
	line, err := s.DecidingLine(ctx, a.region, a.build)
	if err != nil || line == nil {
		return err
	}
	subs, joiningCount := a.players()
	got, err := s.batchGroups.admissions.Do(ctx, line.row.Name,
		admissionRequest{playerSubs: subs, joiningCount: joiningCount})
	if err != nil {
		return err
	}
	if len(subs) == 0 && !got[0].isAdmitted {
		return &fault.Error{Kind: fault.TooMany, Code: CodeNotAdmitted, RetryAfter: time.Second,
			Detail: "the login queue " + line.row.Name + " has no admission to spare for a ticket without a player"}
	}
	for i, sub := range subs {
		// join_login_queue adds no row when the line is full, or when the valve was opened since this replica read it:
		// refuseFull tells the two apart.
		if i < joiningCount && !got[i].isKnown {
			return s.refuseFull(ctx, a.region, a.build, line)
		}
		if got[i].isAdmitted {
			continue
		}
		if sub == a.callerSub {
			return refuseCaller(line, got[i])
		}
		return refuseMember(line, sub, got[i])
	}
	return nil
}

// CodeNotAdmitted is the code of the answer to players who wait in a login queue.
const CodeNotAdmitted = "not_admitted"

// fullLineRetry is after how long a player who found the line full may ask again.
const fullLineRetry = 30 * time.Second

// refuseFull returns the error for a player who got no place because the line is full; nil if the valve has been opened
// since.
func (s *Store) refuseFull(ctx context.Context, region, build string, line *LoginLine) error {
	r, err := s.renewLines(ctx, time.Now())
	if err != nil {
		return err
	}
	current := r.deciding(region, build)
	if current.row.Name != line.row.Name || current.row.Mode == ValveOpen {
		return nil
	}
	e := fault.New(fault.TooMany, "login_queue_full", "the login queue %s holds all of its %d players: ask again later",
		line.row.Name, line.row.MaxWaiting)
	e.RetryAfter = fullLineRetry
	return e
}

// refuseCaller returns the error for a caller who waits in the line.
func refuseCaller(line *LoginLine, caller admission) error {
	p := line.place(caller.placeNumber, caller.isStaff)
	e := fault.New(fault.TooMany, CodeNotAdmitted, "you are number %d in the login queue %s", p.Position, p.Valve)
	e.Place = p
	e.RetryAfter = p.AskAfter
	return e
}

// refuseMember returns the error for a party of which another player than the caller is not admitted.
func refuseMember(line *LoginLine, sub string, member admission) error {
	if !member.isKnown {
		e := fault.New(fault.TooMany, CodeNotAdmitted,
			"player %q of the party has no place in the login queue %s: each player joins it",
			sub, line.row.Name)
		e.RetryAfter = askAfter(nil)
		return e
	}
	p := line.place(member.placeNumber, member.isStaff)
	e := fault.New(fault.TooMany, CodeNotAdmitted, "player %q of the party is number %d in the login queue %s", sub,
		p.Position, p.Valve)
	e.RetryAfter = p.AskAfter
	return e
}

// admission is the answer about one player of an admissionRequest, or about its ticket without a player.
type admission struct {
	isKnown     bool // the player has a row in the line, or had one that the request deleted
	isAdmitted  bool
	isStaff     bool
	placeNumber int64
}

// admissionRequest asks for the rows of players in the line of a valve.
type admissionRequest struct {
	playerSubs   []string // none: a ticket without a player asks for an admission
	joiningCount int      // the first so many players get a row if they have none
	isStaff      bool     // the rows that they get are those of staff
	isLeaving    bool     // the rows are deleted instead
}

// answerCount returns how many admissions answer the request.
func (r admissionRequest) answerCount() int { return max(1, len(r.playerSubs)) }

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
		c.Answer(turn.takeAnswer(c.Req), nil)
	}
	return nil
}

// stayingSubs returns the players of the calls that do not leave.
func stayingSubs(calls []*admissionCall) (subs []string) {
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
	namelessAdmissions int             // admissions that are left for tickets without a player
	departedSubs       map[string]bool // players whose rows this batch deleted
}

// decide reads and changes the rows of the players of all calls.
func (t *admissionTurn) decide(ctx context.Context, calls []*admissionCall) error {
	if err := t.leave(ctx, calls); err != nil {
		return err
	}
	if err := t.read(ctx, stayingSubs(calls)); err != nil {
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

// read adds the rows of players to those of the turn.
func (t *admissionTurn) read(ctx context.Context, subs []string) error {
	if len(subs) == 0 {
		return nil
	}
	found, err := t.q.ReadAdmissions(ctx, query.ReadAdmissionsParams{Valve: t.valveName, Subs: subs})
	if err != nil {
		return err
	}
	for _, r := range found {
		t.rows[r.Sub] = r
	}
	return nil
}

// extend postpones the expiry of rows that would expire before the time that their players were promised.
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

// takeAnswer returns the answer to a call. A ticket without a player takes one of the admissions that are left, so that
// the first calls of the batch get them.
func (t *admissionTurn) takeAnswer(r admissionRequest) []admission {
	if len(r.playerSubs) == 0 {
		t.namelessAdmissions--
		return []admission{{isAdmitted: t.namelessAdmissions >= 0}}
	}
	answers := make([]admission, len(r.playerSubs))
	for i, sub := range r.playerSubs {
		row, hasRow := t.rows[sub]
		hadRow := r.isLeaving && t.departedSubs[sub]
		answers[i] = admission{isKnown: hasRow || hadRow, isAdmitted: row.Admitted, isStaff: row.IsStaff,
			placeNumber: row.Place}
	}
	return answers
}
