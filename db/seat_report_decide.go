package db

import (
	"slices"

	"github.com/lattice-director/director/db/query"
)

// This file decides a batch of seat reports by the rows of their sessions, seats and tokens. It is pure.

// reportState is the state that a batch of reports is decided by. Each report changes it for the reports after it.
type reportState struct {
	sessionsByID   map[string]*reportedSession // by public id
	seatStates     map[seatRef]seatState
	redeemedTokens map[string]seatRef // by token id
}

// reportedSession is a session that the transaction has locked.
type reportedSession struct {
	row query.LockReportedSessionsRow

	playerCount int
	isClosed    bool
	// hadVisitor says that a player joined and left in one report, whose seat is free only after the batch is written.
	hadVisitor     bool
	decidedPlayers map[string]bool // players of earlier reports of this batch
}

// seatState is what a player has in a session.
type seatState struct {
	state          string // "reserved" or "connected"; empty: no seat
	connectionName string // of the connection that holds the seat; empty where it has no name
	hadOne         bool   // the player has or had a seat in the session
}

// isHeldBy reports whether the seat is connected by this connection. A connection without a name counts as the same.
func (s seatState) isHeldBy(connection string) bool {
	return s.state == "connected" && (connection == "" || s.connectionName == "" || s.connectionName == connection)
}

func newReportState(region string, sessions []query.LockReportedSessionsRow, seats []query.ReportedSeatsRow,
	tokens []query.RedeemedTokensRow) reportState {
	k := reportState{map[string]*reportedSession{}, map[seatRef]seatState{}, map[string]seatRef{}}
	for _, s := range sessions {
		k.sessionsByID[sessionID(region, s.ID)] = &reportedSession{row: s, playerCount: int(s.PlayerCount),
			decidedPlayers: map[string]bool{}}
	}
	for _, st := range seats {
		k.seatStates[seatRef{st.SessionID, st.Sub}] = seatState{state: st.State, connectionName: st.Connection,
			hadOne: st.HadOne}
	}
	for _, t := range tokens {
		k.redeemedTokens[t.Jti] = seatRef{t.SessionID, t.Sub}
	}
	return k
}

// report is a call while it is being decided.
type report struct {
	call            *reportCall
	reportedSession *reportedSession
	result          SeatReportResult
	joiningPlayers  []Joined // players to seat, whose token ids are to be redeemed
	releasedPlayers []string // players whose seats are to be freed
}

// decide decides the calls that this batch can decide, in their order. It returns as foreign the calls about a session
// that is not their instance's.
func (k reportState) decide(calls []*reportCall) (reports []*report, foreign []*reportCall) {
	for _, c := range calls {
		s := k.sessionsByID[c.Req.SessionID]
		switch {
		case s == nil || !speaksFor(c.Req.InstanceRef, s.row):
			foreign = append(foreign, c)
		// A report that must wait gets no answer, and so stays for the next batch.
		case !s.mustWait(c.Req):
			reports = append(reports, k.decideReport(c, s))
		}
	}
	return reports, foreign
}

// speaksFor reports whether a session is open on the instance, of the incarnation if the reference has one.
func speaksFor(ref InstanceRef, s query.LockReportedSessionsRow) bool {
	return s.Live && s.InstanceID == ref.InstanceID && (ref.Incarnation == nil || *ref.Incarnation == s.Incarnation)
}

// mustWait reports whether a report about the session must wait until the decisions of this batch are written.
func (s *reportedSession) mustWait(r SeatReport) bool {
	return s.isClosed || s.hadVisitor ||
		slices.ContainsFunc(r.JoinedPlayers, func(j Joined) bool { return s.decidedPlayers[j.PlayerSub] }) ||
		slices.ContainsFunc(r.LeftPlayers, func(l Left) bool { return s.decidedPlayers[l.PlayerSub] })
}

// decideReport decides each entry of a report, those that joined first.
func (k reportState) decideReport(c *reportCall, s *reportedSession) *report {
	r := &report{call: c, reportedSession: s}
	for _, j := range c.Req.JoinedPlayers {
		r.join(j, k)
	}
	for _, l := range c.Req.LeftPlayers {
		r.leave(l, k)
	}
	for _, o := range r.result.Outcomes {
		s.decidedPlayers[o.PlayerSub] = true
	}
	// Only a report that frees a seat closes an empty session: one that was never filled waits for its players.
	if c.Req.HasEnded || len(r.releasedPlayers) > 0 && s.playerCount == 0 {
		r.result.IsClosed, s.isClosed, s.playerCount = true, true, 0
	}
	r.result.PlayerCount = s.playerCount
	return r
}

// join decides the entry of a player who joined, and adds its result to that of the report.
func (r *report) join(j Joined, k reportState) {
	result := r.seat(j, k)
	if result == SeatOK {
		r.result.JoinedCount++
	}
	r.result.Outcomes = append(r.result.Outcomes, SeatOutcome{j.PlayerSub, j.JTI, result})
}

// seat connects the seat of a player by a token, if the player has a seat or may take it again, and the token is new.
func (r *report) seat(j Joined, k reportState) SeatResult {
	at := seatRef{r.reportedSession.row.ID, j.PlayerSub}
	st := k.seatStates[at]
	usedAt, isUsed := k.redeemedTokens[j.JTI]
	if isUsed {
		// A retry of a report whose answer was lost.
		if usedAt == at && st.isHeldBy(j.ConnectionName) {
			return SeatOK
		}
		return SeatReplay
	}
	if st.state == "" {
		if !st.hadOne {
			return SeatUnknown
		}
		if r.reportedSession.playerCount >= int(r.reportedSession.row.MaxPlayers) {
			return SeatGone
		}
		r.reportedSession.playerCount++
	}
	r.joiningPlayers = append(r.joiningPlayers, j)
	// The reports behind this one are decided by what it has changed.
	k.seatStates[at] = seatState{state: "connected", connectionName: j.ConnectionName, hadOne: true}
	k.redeemedTokens[j.JTI] = at
	return SeatOK
}

// connects reports whether the report seats the player.
func (r *report) connects(sub string) bool {
	return slices.ContainsFunc(r.joiningPlayers, func(j Joined) bool { return j.PlayerSub == sub })
}

// leave decides the entry of a player who left, and adds its result to that of the report.
func (r *report) leave(l Left, k reportState) {
	result := r.free(l, k)
	if result == SeatOK {
		r.result.LeftCount++
	}
	r.result.Outcomes = append(r.result.Outcomes, SeatOutcome{l.PlayerSub, "", result})
}

// free frees the seat of a player, unless another connection holds it.
func (r *report) free(l Left, k reportState) SeatResult {
	at := seatRef{r.reportedSession.row.ID, l.PlayerSub}
	st := k.seatStates[at]
	if st.state == "" {
		// A player who has left already gets the same answer again. One who never had a seat is an error of the server.
		if st.hadOne {
			return SeatOK
		}
		return SeatUnknown
	}
	// A connection that was replaced by a later one of the same player reports its end: the seat stays.
	if l.ConnectionName != "" && !st.isHeldBy(l.ConnectionName) {
		return SeatNotHolder
	}
	r.reportedSession.playerCount--
	if r.connects(l.PlayerSub) {
		r.reportedSession.hadVisitor = true
	}
	r.releasedPlayers = append(r.releasedPlayers, l.PlayerSub)
	k.seatStates[at] = seatState{hadOne: true}
	return SeatOK
}
