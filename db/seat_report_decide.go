package db

import "slices"

// What a flight of seat reports means, given what is known of their sessions, seats and tokens. It is pure.

// reported is what a flight of reports is judged by, and what becomes of it report by report.
type reported struct {
	sessions map[string]*reportedSession // by session id
	seats    map[seatRef]seatState
	redeemed map[string]seatRef // by token id
}

// reportedSession is a session that a transaction holds.
type reportedSession struct {
	LockReportedSessionsRow

	players int
	closed  bool
	visited bool            // a player joined and left in one report, whose seat is only free when the batch is written
	decided map[string]bool // players an earlier report of this flight was about
}

type seatState struct {
	state      string // empty for none
	connection string // that holds the connected seat; empty when it has no name
	hadOne     bool
}

// heldBy says that the seat is connected, and by that connection as far as is known. Without a name nothing is known.
func (s seatState) heldBy(connection string) bool {
	return s.state == "connected" && (connection == "" || s.connection == "" || s.connection == connection)
}

func reportedOf(region string, sessions []LockReportedSessionsRow, seats []ReportedSeatsRow, tokens []RedeemedTokensRow) reported {
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

// decide judges the calls that may be decided now, in their order. Strangers are those about a session that is not
// their instance's.
func (k reported) decide(calls []*reportCall) (reports []*report, strangers []*reportCall) {
	for _, c := range calls {
		s := k.sessions[c.Req.SessionID]
		switch {
		case s == nil || !speaksFor(c.Req.Ref, s.LockReportedSessionsRow):
			strangers = append(strangers, c)
		case !s.awaits(c.Req):
			reports = append(reports, k.judge(c, s))
		}
	}
	return reports, strangers
}

func speaksFor(ref InstanceRef, s LockReportedSessionsRow) bool {
	return s.Live && s.InstanceID == ref.InstanceID && (ref.Incarnation == nil || *ref.Incarnation == s.Incarnation)
}

// awaits tells whether a report has to wait for what is decided in this flight to be written.
func (s *reportedSession) awaits(r SeatReport) bool {
	return s.closed || s.visited || slices.ContainsFunc(r.Left, func(l Left) bool { return s.decided[l.Sub] }) ||
		slices.ContainsFunc(r.Joined, func(j Joined) bool { return s.decided[j.Sub] })
}

// judge decides each entry by what is known of the seats and the token ids.
func (k reported) judge(c *reportCall, s *reportedSession) *report {
	r := &report{call: c, session: s}
	for _, j := range c.Req.Joined {
		r.join(j, k)
	}
	for _, l := range c.Req.Left {
		r.leave(l, k)
	}
	for _, o := range r.result.Outcomes {
		s.decided[o.Sub] = true
	}
	if c.Req.Ended || len(r.release) > 0 && s.players == 0 {
		r.result.Closed, s.closed, s.players = true, true, 0
	}
	r.result.PlayerCount = s.players
	return r
}

func (r *report) join(j Joined, k reported) {
	at := seatRef{r.session.ID, j.Sub}
	st := k.seats[at]
	used, known := k.redeemed[j.JTI]
	result := SeatOK
	switch {
	case known && used == at && st.heldBy(j.Connection):
		// A retry: the answer was lost.
	case known:
		result = SeatReplay
	case st.state == "" && !st.hadOne:
		result = SeatUnknown
	case st.state == "" && r.session.players >= int(r.session.MaxPlayers):
		result = SeatGone
	default:
		if st.state == "" {
			r.session.players++
		}
		r.connect = append(r.connect, j)
		k.seats[at], k.redeemed[j.JTI] = seatState{"connected", j.Connection, true}, at
	}
	if result == SeatOK {
		r.result.Joined++
	}
	r.result.Outcomes = append(r.result.Outcomes, SeatOutcome{j.Sub, j.JTI, result})
}

// connects tells whether the report seats the player.
func (r *report) connects(sub string) bool {
	return slices.ContainsFunc(r.connect, func(j Joined) bool { return j.Sub == sub })
}

func (r *report) leave(l Left, k reported) {
	at := seatRef{r.session.ID, l.Sub}
	st := k.seats[at]
	result := SeatOK
	switch {
	case st.state != "" && l.Connection != "" && !st.heldBy(l.Connection):
		result = SeatNotHolder
	case st.state != "":
		r.session.players--
		r.session.visited = r.session.visited || r.connects(l.Sub)
		r.release = append(r.release, l.Sub)
		k.seats[at] = seatState{hadOne: true}
	case !st.hadOne:
		result = SeatUnknown
	}
	if result == SeatOK {
		r.result.Left++
	}
	r.result.Outcomes = append(r.result.Outcomes, SeatOutcome{l.Sub, "", result})
}
