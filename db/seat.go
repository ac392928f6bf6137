package db

import (
	"context"
	"log/slog"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
)

// SeatReport is what an instance says about the players of one of its sessions. Joined is taken in before Left.
type SeatReport struct {
	Ref       InstanceRef
	SessionID string
	Joined    []Joined
	Left      []string // players
	Ended     bool     // the session is over
}

// Joined is a player who connected with the session token of that id.
type Joined struct{ Sub, JTI string }

// SeatResult says what became of one entry of a report.
type SeatResult string

// The results of an entry.
const (
	SeatOK      SeatResult = "ok"        // done, or done before
	SeatReplay  SeatResult = "replay"    // that token was used before: refuse the player
	SeatGone    SeatResult = "seat_gone" // the seat was freed and there is no room any more: refuse the player
	SeatUnknown SeatResult = "unknown"   // the player never had a seat in this session
)

// SeatOutcome is the result of one entry.
type SeatOutcome struct {
	Sub    string
	JTI    string // empty for a player who left
	Result SeatResult
}

// SeatReportResult is the answer to a report: an outcome for each entry, those that joined first.
type SeatReportResult struct {
	Outcomes    []SeatOutcome
	Joined      int // that were ok
	Left        int
	PlayerCount int
	Closed      bool // the session is closed: now, or before
}

// errTokenRace takes a transaction back that lost a token id to another one between look and write.
var errTokenRace = &pgconn.PgError{Code: "40001", Message: "a token id was redeemed meanwhile"}

type (
	reportCall = call[SeatReport, SeatReportResult]
	seatState  struct {
		state  string // empty for none
		hadOne bool
	}
)

// ReportSeats takes in who joined and who left. Every report is safe to repeat. A report about a session that is not
// this instance's, or is closed, finds all its players unknown. Errors: NotFound or Superseded for the instance,
// Unavailable.
func (s *Store) ReportSeats(ctx context.Context, r SeatReport) (SeatReportResult, error) {
	region, _, ok := parseSessionID(r.SessionID)
	if !ok {
		return s.reportOnNothing(ctx, r)
	}
	return s.reporter.do(ctx, region, r)
}

// reportOnNothing answers a report about a session that is not the instance's.
func (s *Store) reportOnNothing(ctx context.Context, r SeatReport) (SeatReportResult, error) {
	if _, err := s.q.findLive(ctx, r.Ref); err != nil {
		return SeatReportResult{}, classify(err)
	}
	res := SeatReportResult{Closed: true}
	for _, j := range r.Joined {
		res.Outcomes = append(res.Outcomes, SeatOutcome{j.Sub, j.JTI, SeatUnknown})
	}
	for _, sub := range r.Left {
		res.Outcomes = append(res.Outcomes, SeatOutcome{sub, "", SeatUnknown})
	}
	return res, nil
}

func (s *Store) reportTogether(ctx context.Context, region string, calls []*reportCall) error {
	batch := onePerSession(calls)
	var strangers []*reportCall
	var reports []*report
	var started []string
	err := s.inTx(ctx, func(q *Queries) error {
		rt := reporting{s, q, region}
		held, err := rt.lockSessions(ctx, batch)
		if err != nil {
			return err
		}
		for _, c := range batch {
			if row, ok := held[c.req.SessionID]; ok && speaksFor(c.req.Ref, row) {
				reports = append(reports, &report{call: c, session: row})
			} else {
				strangers = append(strangers, c)
			}
		}
		if len(reports) == 0 {
			return nil
		}
		if err := rt.decide(ctx, reports); err != nil {
			return err
		}
		started, err = rt.write(ctx, reports)
		return err
	})
	if err != nil {
		return err
	}
	if len(started) > 0 {
		err := s.q.HoldByToken(ctx, HoldByTokenParams{Region: region, InstanceIds: started, TokenHold: s.cfg.Timing.TokenTTL + s.cfg.Timing.ConnectGrace})
		if err != nil {
			s.cfg.Log.Warn("seats of instances that began to report are held for longer than needed", slog.Any("error", err))
		}
	}
	for _, r := range reports {
		r.call.answer(r.result, nil)
	}
	for _, c := range strangers {
		c.answer(s.reportOnNothing(ctx, c.req))
	}
	return nil
}

// onePerSession leaves later reports about a session to the next flight: they may build on this one.
func onePerSession(calls []*reportCall) []*reportCall {
	seen := map[string]bool{}
	var first []*reportCall
	for _, c := range calls {
		if !seen[c.req.SessionID] {
			seen[c.req.SessionID] = true
			first = append(first, c)
		}
	}
	return first
}

func speaksFor(ref InstanceRef, s LockReportedSessionsRow) bool {
	return s.Live && s.InstanceID == ref.InstanceID && (ref.Incarnation == nil || *ref.Incarnation == s.Incarnation)
}

// report is a call while it is being decided.
type report struct {
	call    *reportCall
	session LockReportedSessionsRow
	result  SeatReportResult
	connect []Joined // those to seat, token ids to redeem
	release []string // players whose seats to free
}

// reporting is one transaction of seat reports.
type reporting struct {
	*Store
	q      *Queries
	region string
}

func (rt reporting) lockSessions(ctx context.Context, calls []*reportCall) (map[string]LockReportedSessionsRow, error) {
	ids := make([]uuid.UUID, len(calls))
	for i, c := range calls {
		_, ids[i], _ = parseSessionID(c.req.SessionID)
	}
	rows, err := rt.q.LockReportedSessions(ctx, LockReportedSessionsParams{Region: rt.region, Ids: ids})
	held := make(map[string]LockReportedSessionsRow, len(rows))
	for _, r := range rows {
		held[sessionID(rt.region, r.ID)] = r
	}
	return held, err
}

// decide judges each entry by what is known of the seats and the token ids.
func (rt reporting) decide(ctx context.Context, reports []*report) error {
	seats, err := rt.seats(ctx, reports)
	if err != nil {
		return err
	}
	redeemed, err := rt.redeemed(ctx, reports)
	if err != nil {
		return err
	}
	for _, r := range reports {
		r.result.PlayerCount = int(r.session.PlayerCount)
		for _, j := range r.call.req.Joined {
			r.join(j, seats, redeemed)
		}
		for _, sub := range r.call.req.Left {
			r.leave(sub, seats)
		}
	}
	return nil
}

func (r *report) join(j Joined, seats map[seatRef]seatState, redeemed map[string]seatRef) {
	at := seatRef{r.session.ID, j.Sub}
	st := seats[at]
	used, known := redeemed[j.JTI]
	result := SeatOK
	switch {
	case known && used == at && st.state == "connected":
		// Told before; the answer was lost.
	case known:
		result = SeatReplay
	case st.state == "" && !st.hadOne:
		result = SeatUnknown
	case st.state == "" && r.result.PlayerCount >= int(r.session.MaxPlayers):
		result = SeatGone
	default:
		if st.state == "" {
			r.result.PlayerCount++
		}
		r.connect = append(r.connect, j)
		seats[at], redeemed[j.JTI] = seatState{"connected", true}, at
	}
	if result == SeatOK {
		r.result.Joined++
	}
	r.result.Outcomes = append(r.result.Outcomes, SeatOutcome{j.Sub, j.JTI, result})
}

func (r *report) leave(sub string, seats map[seatRef]seatState) {
	at := seatRef{r.session.ID, sub}
	st := seats[at]
	result := SeatOK
	switch {
	case st.state != "":
		r.result.PlayerCount--
		r.release = append(r.release, sub)
		seats[at] = seatState{"", true}
	case !st.hadOne:
		result = SeatUnknown
	}
	if result == SeatOK {
		r.result.Left++
	}
	r.result.Outcomes = append(r.result.Outcomes, SeatOutcome{sub, "", result})
}

func (rt reporting) seats(ctx context.Context, reports []*report) (map[seatRef]seatState, error) {
	p := ReportedSeatsParams{Region: rt.region}
	for _, r := range reports {
		for _, j := range r.call.req.Joined {
			p.SessionIds, p.Subs = append(p.SessionIds, r.session.ID), append(p.Subs, j.Sub)
		}
		for _, sub := range r.call.req.Left {
			p.SessionIds, p.Subs = append(p.SessionIds, r.session.ID), append(p.Subs, sub)
		}
	}
	rows, err := rt.q.ReportedSeats(ctx, p)
	seats := make(map[seatRef]seatState, len(rows))
	for _, row := range rows {
		seats[seatRef{row.SessionID, row.Sub}] = seatState{row.State, row.HadOne}
	}
	return seats, err
}

func (rt reporting) redeemed(ctx context.Context, reports []*report) (map[string]seatRef, error) {
	var jtis []string
	for _, r := range reports {
		for _, j := range r.call.req.Joined {
			jtis = append(jtis, j.JTI)
		}
	}
	used := map[string]seatRef{}
	if len(jtis) == 0 {
		return used, nil
	}
	rows, err := rt.q.RedeemedTokens(ctx, RedeemedTokensParams{Region: rt.region, Jtis: jtis})
	for _, row := range rows {
		used[row.Jti] = seatRef{row.SessionID, row.Sub}
	}
	return used, err
}

// write stores what was decided, in the lock order: seats, then the instances of sessions that close. It returns the
// instances whose first report this is.
func (rt reporting) write(ctx context.Context, reports []*report) (started []string, err error) {
	if err := rt.connect(ctx, reports); err != nil {
		return nil, err
	}
	if err := rt.release(ctx, reports); err != nil {
		return nil, err
	}
	var ended, emptied []uuid.UUID
	var silent, touched []string
	for _, r := range reports {
		if !r.session.ReportsSeats {
			silent = append(silent, r.session.InstanceID)
		}
		switch {
		case r.call.req.Ended:
			ended = append(ended, r.session.ID)
		case r.emptied():
			emptied = append(emptied, r.session.ID)
		default:
			continue
		}
		r.result.Closed, r.result.PlayerCount = true, 0
		touched = append(touched, r.session.InstanceID)
	}
	if len(silent)+len(touched) == 0 {
		return nil, nil
	}
	if err := rt.q.HoldInstances(ctx, HoldInstancesParams{Region: rt.region, Ids: append(touched, silent...)}); err != nil {
		return nil, err
	}
	if err := rt.close(ctx, ended, "ended"); err != nil {
		return nil, err
	}
	if err := rt.close(ctx, emptied, "empty"); err != nil || len(silent) == 0 {
		return nil, err
	}
	return rt.q.StartReporting(ctx, StartReportingParams{Region: rt.region, InstanceIds: silent})
}

func (r *report) emptied() bool { return len(r.release) > 0 && r.result.PlayerCount == 0 }

func (rt reporting) close(ctx context.Context, sessions []uuid.UUID, reason string) error {
	if len(sessions) == 0 {
		return nil
	}
	_, err := rt.q.CloseSessions(ctx, CloseSessionsParams{Region: rt.region, Ids: sessions, Reason: reason})
	return err
}

func (rt reporting) connect(ctx context.Context, reports []*report) error {
	redeem := RedeemTokensParams{Region: rt.region, Memory: rt.cfg.Timing.TokenTTL + rt.cfg.Timing.ConnectGrace}
	seats := ConnectSeatsParams{Region: rt.region}
	for _, r := range reports {
		seated := map[string]bool{}
		for _, j := range r.connect {
			redeem.Jtis, redeem.Subs = append(redeem.Jtis, j.JTI), append(redeem.Subs, j.Sub)
			redeem.SessionIds = append(redeem.SessionIds, r.session.ID)
			if !seated[j.Sub] {
				seated[j.Sub] = true
				seats.add(r.session, j)
			}
		}
	}
	if len(redeem.Jtis) == 0 {
		return nil
	}
	fresh, err := rt.q.RedeemTokens(ctx, redeem)
	if err != nil {
		return err
	}
	if len(fresh) < len(redeem.Jtis) {
		return errTokenRace
	}
	return rt.q.ConnectSeats(ctx, seats)
}

func (p *ConnectSeatsParams) add(s LockReportedSessionsRow, j Joined) {
	p.SessionIds = append(p.SessionIds, s.ID)
	p.Subs = append(p.Subs, j.Sub)
	p.Jtis = append(p.Jtis, j.JTI)
	p.Modes = append(p.Modes, s.Mode)
	p.Parties = append(p.Parties, partyKey([]string{j.Sub}))
}

func (rt reporting) release(ctx context.Context, reports []*report) error {
	p := ReleaseSeatsParams{Region: rt.region, EvenConnected: true, Reason: "left"}
	for _, r := range reports {
		for _, sub := range r.release {
			p.SessionIds, p.Subs = append(p.SessionIds, r.session.ID), append(p.Subs, sub)
		}
	}
	if len(p.Subs) == 0 {
		return nil
	}
	_, err := rt.q.ReleaseSeats(ctx, p)
	return err
}
