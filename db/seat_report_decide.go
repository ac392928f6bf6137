package db

import (
	"slices"

	"github.com/lattice-director/director/db/query"
)

// Pure decisions about a batch of seat reports, given the rows of their sessions, seats and tokens.

// reported is the state that a batch of reports is decided by. Each report changes it for the reports after it.
type reported struct {
	sessions map[string]*reportedSession // by session id
	seats    map[seatRef]seatState
	redeemed map[string]seatRef // by token id
}

// reportedSession is a session that the transaction has locked.
type reportedSession struct {
	row query.LockReportedSessionsRow

	players int
	closed  bool
	// a player joined and left in one report; its seat is free only after the batch is written
	visited        bool
	decidedPlayers map[string]bool // players of earlier reports of this batch
}

type seatState struct {
	state      string // empty for none
	connection string // that holds the connected seat; empty when it has no name
	hadOne     bool
}

// heldBy reports whether the seat is connected by this connection. A connection without a name counts as the same.
func (s seatState) heldBy(connection string) bool {
	return s.state == "connected" && (connection == "" || s.connection == "" || s.connection == connection)
}

func reportedOf(region string, sessions []query.LockReportedSessionsRow, seats []query.ReportedSeatsRow,
	tokens []query.RedeemedTokensRow) reported {
	k := reported{map[string]*reportedSession{}, map[seatRef]seatState{}, map[string]seatRef{}}
	for _, s := range sessions {
		k.sessions[sessionID(region, s.ID)] = &reportedSession{s, int(s.PlayerCount), false, false, map[string]bool{}}
	}
	for _, st := range seats {
		k.seats[seatRef{st.SessionID, st.Sub}] = seatState{st.State, st.Connection, st.HadOne}
	}
	for _, t := range tokens {
		k.redeemed[t.Jti] = seatRef{t.SessionID, t.Sub}
	}
	return k
}

// report is a call while it is being decided.
type report struct {
	call    *reportCall
	session *reportedSession
	result  SeatReportResult
	connect []Joined // those to seat, token ids to redeem
	release []string // players whose seats to free
}

// decide decides the calls that this batch can decide, in their order. It returns as foreign the calls about a session
// that is not their instance's.
func (k reported) decide(calls []*reportCall) (reports []*report, foreign []*reportCall) {
	for _, c := range calls {
		s := k.sessions[c.Req.SessionID]
		switch {
		case s == nil || !speaksFor(c.Req.Ref, s.row):
			foreign = append(foreign, c)
		// A report that must wait gets no answer now, so it is in the next batch.
		case !s.awaits(c.Req):
			reports = append(reports, k.decideReport(c, s))
		}
	}
	return reports, foreign
}

func speaksFor(ref InstanceRef, s query.LockReportedSessionsRow) bool {
	return s.Live && s.InstanceID == ref.InstanceID && (ref.Incarnation == nil || *ref.Incarnation == s.Incarnation)
}

// awaits reports whether a report must wait until the decisions of this batch are written.
func (s *reportedSession) awaits(r SeatReport) bool {
	return s.closed || s.visited || slices.ContainsFunc(r.LeftPlayers,
		func(l Left) bool { return s.decidedPlayers[l.Sub] }) ||
		slices.ContainsFunc(r.Joined, func(j Joined) bool { return s.decidedPlayers[j.Sub] })
}

// decideReport decides each entry by the seats and the token ids.
func (k reported) decideReport(c *reportCall, s *reportedSession) *report {
	r := &report{call: c, session: s}
	for _, j := range c.Req.Joined {
		r.join(j, k)
	}
	for _, l := range c.Req.LeftPlayers {
		r.leave(l, k)
	}
	for _, o := range r.result.Outcomes {
		s.decidedPlayers[o.Sub] = true
	}
	// Only a report that frees a seat closes an empty session: one that was never filled waits for its players.
	if c.Req.Ended || len(r.release) > 0 && s.players == 0 {
		r.result.Closed, s.closed, s.players = true, true, 0
	}
	r.result.PlayerCount = s.players
	return r
}

// join seats a player by its token, if the seat is there and neither the token nor the seat is another one's.
func (r *report) join(j Joined, k reported) {
	at := seatRef{r.session.row.ID, j.Sub}
	st := k.seats[at]
	used, known := k.redeemed[j.JTI]
	result := SeatOK
	switch {
	case known && used == at && st.heldBy(j.Connection):
		// A retry of a report whose answer was lost.
	case known:
		result = SeatReplay
	case st.state == "" && !st.hadOne:
		result = SeatUnknown
	case st.state == "" && r.session.players >= int(r.session.row.MaxPlayers):
		result = SeatGone
	default:
		if st.state == "" {
			r.session.players++
		}
		r.connect = append(r.connect, j)
		// The reports behind this one are decided by what it has changed.
		k.seats[at], k.redeemed[j.JTI] = seatState{"connected", j.Connection, true}, at
	}
	if result == SeatOK {
		r.result.Joined++
	}
	r.result.Outcomes = append(r.result.Outcomes, SeatOutcome{j.Sub, j.JTI, result})
}

// connects reports whether the report seats the player.
func (r *report) connects(sub string) bool {
	return slices.ContainsFunc(r.connect, func(j Joined) bool { return j.Sub == sub })
}

// leave frees the seat of a player, unless another connection holds it.
func (r *report) leave(l Left, k reported) {
	at := seatRef{r.session.row.ID, l.Sub}
	st := k.seats[at]
	result := SeatOK
	switch {
	// A connection that was replaced by a later one of the same player reports its end: the seat stays.
	case st.state != "" && l.Connection != "" && !st.heldBy(l.Connection):
		result = SeatNotHolder
	case st.state != "":
		r.session.players--
		// It came in the same report: its seat is free only once the batch is written.
		r.session.visited = r.session.visited || r.connects(l.Sub)
		r.release = append(r.release, l.Sub)
		k.seats[at] = seatState{hadOne: true}
	// A player who has left already gets the same answer again. One who never had a seat is an error of the server.
	case !st.hadOne:
		result = SeatUnknown
	}
	if result == SeatOK {
		r.result.LeftCount++
	}
	r.result.Outcomes = append(r.result.Outcomes, SeatOutcome{l.Sub, "", result})
}
