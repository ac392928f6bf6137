package db

import (
	"context"
	"log/slog"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
)

// errTokenRace rolls back a transaction when another one redeemed a token id between its read and its write.
var errTokenRace = &pgconn.PgError{Code: "40001", Message: "a token id was redeemed meanwhile"}

// reportBatch decides reports of one region in one transaction, those about one session in their order. A report after
// one that closes its session, or about a player of an earlier report, stays for the next batch.
func (s *Store) reportBatch(ctx context.Context, region string, calls []*reportCall) error {
	var foreign []*reportCall
	var reports []*report
	var started []string
	err := s.frame.InTx(ctx, func(q *query.Queries) error {
		rt := reporting{store: s, q: q, region: region}
		// Made for each attempt, with nothing in it of an earlier one.
		known, err := rt.load(ctx, calls)
		if err != nil {
			return err
		}
		reports, foreign = known.decide(calls)
		started, err = rt.write(ctx, reports)
		return err
	})
	if err != nil {
		return err
	}
	// After the commit, each on its own: a failure here changes nothing about the reports.
	s.expireWithTokens(ctx, region, started)
	s.answerReports(reports)
	return s.answerForeign(ctx, foreign)
}

// expireWithTokens brings the expiry of resolved seats forward, on instances that report for the first time.
func (s *Store) expireWithTokens(ctx context.Context, region string, started []string) {
	if len(started) == 0 {
		return
	}
	err := s.q.ExpireSeatsWithTokens(ctx,
		query.ExpireSeatsWithTokensParams{Region: region, InstanceIds: started,
			TokenHold: s.cfg.Timing.longestTokenHold()})
	if err != nil {
		s.cfg.Log.Warn("seats of instances that report for the first time are held for longer than needed",
			slog.Any("error", err))
	}
}

// answerReports answers reports whose transaction has committed.
func (s *Store) answerReports(reports []*report) {
	for _, r := range reports {
		// Its instance has room again, for which requests may wait in any region.
		if r.result.IsClosed {
			s.Notify(TopicCapacity, "")
		}
		r.call.Answer(r.result, nil)
	}
}

// answerForeign answers reports about sessions that belong to another instance or do not exist.
func (s *Store) answerForeign(ctx context.Context, calls []*reportCall) error {
	refs := make([]InstanceRef, len(calls))
	for i, c := range calls {
		refs[i] = c.Req.InstanceRef
	}
	known, err := findInstances(ctx, s.q, refs...)
	if err != nil {
		return err
	}
	for _, c := range calls {
		c.Answer(known.reportOnForeign(c.Req))
	}
	return nil
}

// reporting is one transaction of seat reports.
type reporting struct {
	store           *Store
	q               *query.Queries
	region          string
	silentInstances []string // instances that report for the first time, beside those of the reports
}

// load locks the sessions of the calls and reads the seats and tokens that decide about them.
func (rt reporting) load(ctx context.Context, calls []*reportCall) (reported, error) {
	sessions := query.LockReportedSessionsParams{Region: rt.region}
	seats := query.ReportedSeatsParams{Region: rt.region}
	tokens := query.RedeemedTokensParams{Region: rt.region}
	for _, c := range calls {
		_, id, _ := parseSessionID(c.Req.SessionID)
		sessions.Ids = append(sessions.Ids, id)
		for _, j := range c.Req.JoinedPlayers {
			seats.SessionIds = append(seats.SessionIds, id)
			seats.Subs = append(seats.Subs, j.PlayerSub)
			tokens.Jtis = append(tokens.Jtis, j.JTI)
		}
		for _, l := range c.Req.LeftPlayers {
			seats.SessionIds = append(seats.SessionIds, id)
			seats.Subs = append(seats.Subs, l.PlayerSub)
		}
	}
	var out tx.Pipeline
	var locked []query.LockReportedSessionsRow
	var seated []query.ReportedSeatsRow
	var redeemed []query.RedeemedTokensRow
	// first, so that the others see what the last holders of the locks wrote
	query.Queue(&out, &locked, (*query.Queries).LockReportedSessions, sessions)
	query.Queue(&out, &seated, (*query.Queries).ReportedSeats, seats)
	query.Queue(&out, &redeemed, (*query.Queries).RedeemedTokens, tokens)
	err := rt.q.Send(ctx, &out)
	return reportedOf(rt.region, locked, seated, redeemed), err
}

// write stores the decisions in the lock order: seats, then the instances of sessions that close. It releases seats
// before it takes others, since a join may need the seat that an earlier report freed. It returns the instances that
// report for the first time.
func (rt reporting) write(ctx context.Context, reports []*report) (started []string, err error) {
	if len(reports)+len(rt.silentInstances) == 0 {
		return nil, nil
	}
	var out tx.Pipeline
	var fresh []string
	var released []query.ReleaseSeatsRow
	redeem, connect := rt.connects(reports)
	release, visits := rt.releases(reports)
	if len(release.Subs) > 0 {
		query.Queue(&out, &released, (*query.Queries).ReleaseSeats, release)
	}
	if len(redeem.Jtis) > 0 {
		query.Queue(&out, &fresh, (*query.Queries).RedeemTokens, redeem)
		query.QueueExec(&out, (*query.Queries).ConnectSeats, connect)
	}
	if len(visits.Subs) > 0 {
		query.Queue(&out, &released, (*query.Queries).ReleaseSeats, visits)
	}
	rt.closes(&out, reports, &started)
	if err := rt.q.Send(ctx, &out); err != nil {
		return nil, err
	}
	// RedeemTokens returns the token ids that are new: another transaction has redeemed one of these, in another
	// session.
	if len(fresh) < len(redeem.Jtis) {
		return nil, errTokenRace
	}
	return started, nil
}

// closes adds statements that close sessions that ended or are empty, and that mark instances that report for the first
// time.
func (rt reporting) closes(out *tx.Pipeline, reports []*report, started *[]string) {
	var ended, emptied []uuid.UUID
	silent := slices.Clone(rt.silentInstances)
	var touched []string
	for _, r := range reports {
		// The row is of before this transaction: the instance has reported nothing until now.
		if !r.reportedSession.row.ReportsSeats {
			silent = append(silent, r.reportedSession.row.InstanceID)
		}
		switch {
		case !r.result.IsClosed:
			continue
		case r.call.Req.HasEnded:
			ended = append(ended, r.reportedSession.row.ID)
		default:
			emptied = append(emptied, r.reportedSession.row.ID)
		}
		touched = append(touched, r.reportedSession.row.InstanceID)
	}
	if len(silent)+len(touched) == 0 {
		return
	}
	// All at once, in the order of their ids, before the statements that change them one kind after the other.
	query.QueueExec(out, (*query.Queries).LockInstances,
		query.LockInstancesParams{Region: rt.region, Ids: append(touched, silent...)})
	var closed []uuid.UUID
	if len(ended) > 0 {
		query.Queue(out, &closed, (*query.Queries).CloseSessions,
			query.CloseSessionsParams{Region: rt.region, Ids: ended, Reason: "ended"})
	}
	if len(emptied) > 0 {
		query.Queue(out, &closed, (*query.Queries).CloseSessions,
			query.CloseSessionsParams{Region: rt.region, Ids: emptied, Reason: "empty"})
	}
	if len(silent) > 0 {
		query.Queue(out, started, (*query.Queries).StartReporting,
			query.StartReportingParams{Region: rt.region, InstanceIds: silent})
	}
}

func (rt reporting) connects(reports []*report) (query.RedeemTokensParams, query.ConnectSeatsParams) {
	redeem := query.RedeemTokensParams{Region: rt.region, Memory: rt.store.cfg.Timing.longestTokenHold()}
	seats := query.ConnectSeatsParams{Region: rt.region}
	for _, r := range reports {
		last := map[string]Joined{}
		for _, j := range r.joiningPlayers {
			redeem.Jtis = append(redeem.Jtis, j.JTI)
			redeem.Subs = append(redeem.Subs, j.PlayerSub)
			redeem.SessionIds = append(redeem.SessionIds, r.reportedSession.row.ID)
			last[j.PlayerSub] = j
		}
		for _, j := range r.joiningPlayers {
			// Of several tokens of a player in one report, the last one holds the seat. All are used up.
			if last[j.PlayerSub] == j {
				addSeatToConnect(&seats, r.reportedSession.row, j)
			}
		}
	}
	return redeem, seats
}

func addSeatToConnect(p *query.ConnectSeatsParams, s query.LockReportedSessionsRow, j Joined) {
	p.SessionIds = append(p.SessionIds, s.ID)
	p.Subs = append(p.Subs, j.PlayerSub)
	p.Jtis = append(p.Jtis, j.JTI)
	p.Modes = append(p.Modes, s.Mode)
	p.Parties = append(p.Parties, partyKey([]string{j.PlayerSub}))
	p.Connections = append(p.Connections, j.ConnectionName)
}

// releases returns the seats to free: before, and apart from them those of players that joined in the same report,
// whose joining is written first.
func (rt reporting) releases(reports []*report) (before, visits query.ReleaseSeatsParams) {
	before = query.ReleaseSeatsParams{Region: rt.region, EvenConnected: true, Reason: "left"}
	visits = before
	for _, r := range reports {
		for _, sub := range r.releasedPlayers {
			p := &before
			if r.connects(sub) {
				p = &visits
			}
			p.SessionIds = append(p.SessionIds, r.reportedSession.row.ID)
			p.Subs = append(p.Subs, sub)
		}
	}
	return before, visits
}
