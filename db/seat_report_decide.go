package db

import (
	"slices"

	"github.com/lattice-director/director/db/internal/batch"
	"github.com/lattice-director/director/db/query"
)

// Pure decisions about a batch of seat reports, given the rows of their sessions, seats and tokens.

// reported is the state that a batch of reports is decided by. Each report changes it for the reports after it.
type reported struct {
	sessionsByID   map[string]*reportedSession // by session id
	seatStates     map[seatRef]seatState
	redeemedTokens map[string]seatRef // by token id
}

// reportedSession is a session that the transaction has locked.
type reportedSession struct {
	row query.LockReportedSessionsRow

	playerCount int
	isClosed    bool
	// a player joined and left in one report; its seat is free only after the batch is written
	hadVisitor     bool
	decidedPlayers map[string]bool // players of earlier reports of this batch
}

type seatState struct {
	state          string // empty for none
	connectionName string // that holds the connected seat; empty when it has no name
	hadOne         bool
}

// heldBy reports whether the seat is connected by this connection. A connection without a name counts as the same.
func (s seatState) heldBy(connection string) bool {
	return s.state == "connected" && (connection == "" || s.connectionName == "" || s.connectionName == connection)
}

func reportedOf(region string, sessions []query.LockReportedSessionsRow, seats []query.ReportedSeatsRow,
	tokens []query.RedeemedTokensRow) reported {
	k := reported{map[string]*reportedSession{}, map[seatRef]seatState{}, map[string]seatRef{}}
	for _, s := range sessions {
		k.sessionsByID[sessionID(region, s.ID)] = &reportedSession{s, int(s.PlayerCount), false, false,
			map[string]bool{}}
	}
	for _, st := range seats {
		k.seatStates[seatRef{st.SessionID, st.Sub}] = seatState{st.State, st.Connection, st.HadOne}
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
	joiningPlayers  []Joined // those to seat, token ids to redeem
	releasedPlayers []string // players whose seats to free
}

// decide decides the calls that this batch can decide, in their order. It returns as foreign the calls about a session
// that is not their instance's.
func (k reported) decide(calls []*reportCall) (reports []*report, foreign []*reportCall) {
	for _, c := range calls {
		s := k.sessionsByID[c.Req.SessionID]
		switch {
		case s == nil || !speaksFor(c.Req.InstanceRef, s.row):
			foreign = append(foreign, c)
		// A report that must wait gets no answer now, so it is in the next batch.
		case !s.awaitsReport(c.Req):
			reports = append(reports, k.decideReport(c, s))
		}
	}
	return reports, foreign
}

func speaksFor(ref InstanceRef, s query.LockReportedSessionsRow) bool {
	return s.Live && s.InstanceID == ref.InstanceID && (ref.Incarnation == nil || *ref.Incarnation == s.Incarnation)
}

// awaitsReport reports whether a report must wait until the decisions of this batch are written.
func (s *reportedSession) awaitsReport(r SeatReport) bool {
	return s.isClosed || s.hadVisitor || slices.ContainsFunc(r.LeftPlayers,
		func(l Left) bool { return s.decidedPlayers[l.PlayerSub] }) ||
		slices.ContainsFunc(r.JoinedPlayers, func(j Joined) bool { return s.decidedPlayers[j.PlayerSub] })
}

// decideReport decides each entry by the seats and the token ids.
func (k reported) decideReport(c *reportCall, s *reportedSession) *report {
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

// join seats a player by its token, if the seat is there and neither the token nor the seat is another one's.
func (r *report) join(j Joined, k reported) {
	at := seatRef{r.reportedSession.row.ID, j.PlayerSub}
	st := k.seatStates[at]
	used, known := k.redeemedTokens[j.JTI]
	result := SeatOK
	switch {
	case known && used == at && st.heldBy(j.ConnectionName):
		// A retry of a report whose answer was lost.
	case known:
		result = SeatReplay
	case st.state == "" && !st.hadOne:
		result = SeatUnknown
	case st.state == "" && r.reportedSession.playerCount >= int(r.reportedSession.row.MaxPlayers):
		result = SeatGone
	default:
		if st.state == "" {
			r.reportedSession.playerCount++
		}
		r.joiningPlayers = append(r.joiningPlayers, j)
		// The reports behind this one are decided by what it has changed.
		k.seatStates[at], k.redeemedTokens[j.JTI] = seatState{"connected", j.ConnectionName, true}, at
	}
	if result == SeatOK {
		r.result.JoinedCount++
	}
	r.result.Outcomes = append(r.result.Outcomes, SeatOutcome{j.PlayerSub, j.JTI, result})
}

// connects reports whether the report seats the player.
func (r *report) connects(sub string) bool {
	return slices.ContainsFunc(r.joiningPlayers, func(j Joined) bool { return j.PlayerSub == sub })
}

// leave frees the seat of a player, unless another connection holds it.
func (r *report) leave(l Left, k reported) {
	at := seatRef{r.reportedSession.row.ID, l.PlayerSub}
	st := k.seatStates[at]
	result := SeatOK
	switch {
	// A connection that was replaced by a later one of the same player reports its end: the seat stays.
	case st.state != "" && l.ConnectionName != "" && !st.heldBy(l.ConnectionName):
		result = SeatNotHolder
	case st.state != "":
		r.reportedSession.playerCount--
		// It came in the same report: its seat is free only once the batch is written.
		r.reportedSession.hadVisitor = r.reportedSession.hadVisitor || r.connects(l.PlayerSub)
		r.releasedPlayers = append(r.releasedPlayers, l.PlayerSub)
		k.seatStates[at] = seatState{hadOne: true}
	// A player who has left already gets the same answer again. One who never had a seat is an error of the server.
	case !st.hadOne:
		result = SeatUnknown
	}
	if result == SeatOK {
		r.result.LeftCount++
	}
	r.result.Outcomes = append(r.result.Outcomes, SeatOutcome{l.PlayerSub, "", result})
}

type reportCall = batch.Call[SeatReport, SeatReportResult]
