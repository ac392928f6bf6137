package db

import (
	"context"
	"log/slog"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/lattice-director/director/db/internal/batch"
	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
)

type reportCall = batch.Call[SeatReport, SeatReportResult]

// errTokenRace rolls back a transaction when another one redeemed a token id between its read and its write. By its
// code, the batch is decided again.
var errTokenRace = &pgconn.PgError{Code: "40001", Message: "a token id was redeemed meanwhile"}

// reportSeatBatch decides reports of one region in one transaction, those about one session in their order. A report
// after one that closes its session, or about a player of an earlier report, stays for the next batch.
func (s *Store) reportSeatBatch(ctx context.Context, region string, calls []*reportCall) error {
	var foreign []*reportCall
	var reports []*report
	var newReporters []string
	err := s.frame.InTx(ctx, func(q *query.Queries) error {
		// Made for each attempt, with nothing in it of an earlier one.
		rt := reportTx{store: s, q: q, region: region}
		state, err := rt.load(ctx, calls)
		if err != nil {
			return err
		}
		reports, foreign = state.decide(calls)
		newReporters, err = rt.write(ctx, reports)
		return err
	})
	if err != nil {
		return err
	}
	s.expireWithTokens(ctx, region, newReporters)
	s.answerReports(reports)
	return s.answerForeign(ctx, foreign)
}

// expireWithTokens brings the expiry of resolved seats forward, on instances that report for the first time. It runs
// after the commit: if it fails, the reports are as valid, and seats are held for longer.
func (s *Store) expireWithTokens(ctx context.Context, region string, newReporters []string) {
	if len(newReporters) == 0 {
		return
	}
	err := s.q.ExpireSeatsWithTokens(ctx,
		query.ExpireSeatsWithTokensParams{Region: region, InstanceIds: newReporters,
			TokenHold: s.cfg.Timing.longestTokenHold()})
	if err != nil {
		s.cfg.Log.Warn("seats of instances that report for the first time are held for longer than needed",
			slog.Any("error", err))
	}
}

// answerReports answers reports whose transaction has committed.
func (s *Store) answerReports(reports []*report) {
	for _, r := range reports {
		// The instance has room again, for which requests may wait in any region.
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

// reportTx is one transaction of seat reports.
type reportTx struct {
	store        *Store
	q            *query.Queries
	region       string
	newReporters []string // instances that report for the first time, besides those of the reports
}

// load locks the sessions of the calls and reads the seats and tokens that decide about them.
func (rt reportTx) load(ctx context.Context, calls []*reportCall) (reportState, error) {
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
	// The sessions are locked first, so that the other statements see what the last holders of the locks wrote.
	query.Queue(&out, &locked, (*query.Queries).LockReportedSessions, sessions)
	query.Queue(&out, &seated, (*query.Queries).ReportedSeats, seats)
	query.Queue(&out, &redeemed, (*query.Queries).RedeemedTokens, tokens)
	if err := rt.q.Send(ctx, &out); err != nil {
		return reportState{}, err
	}
	return newReportState(rt.region, locked, seated, redeemed), nil
}

// write stores the decisions in the lock order: seats, then the instances of sessions that close. It releases seats
// before it takes others, since a join may need the seat that an earlier report freed. It returns the instances that
// report for the first time.
func (rt reportTx) write(ctx context.Context, reports []*report) (newReporters []string, err error) {
	if len(reports)+len(rt.newReporters) == 0 {
		return nil, nil
	}
	var out tx.Pipeline
	var fresh []string
	var released []query.ReleaseSeatsRow // which nothing needs
	redeem, connect := rt.seatsToConnect(reports)
	release, visits := rt.seatsToRelease(reports)
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
	rt.queueInstanceChanges(&out, reports, &newReporters)
	if err := rt.q.Send(ctx, &out); err != nil {
		return nil, err
	}
	// RedeemTokens returns the token ids that are new: another transaction has redeemed one of these, in another
	// session.
	if len(fresh) < len(redeem.Jtis) {
		return nil, errTokenRace
	}
	return newReporters, nil
}

// queueInstanceChanges queues statements that close sessions which ended or are empty, and that mark the instances
// which report for the first time.
func (rt reportTx) queueInstanceChanges(out *tx.Pipeline, reports []*report, newReporters *[]string) {
	var ended, emptied []uuid.UUID
	silent := slices.Clone(rt.newReporters)
	var closing []string // instances of sessions that close
	for _, r := range reports {
		// The row was read before this report: the instance has reported nothing until now.
		if !r.reportedSession.row.ReportsSeats {
			silent = append(silent, r.reportedSession.row.InstanceID)
		}
		if !r.result.IsClosed {
			continue
		}
		closing = append(closing, r.reportedSession.row.InstanceID)
		if r.call.Req.HasEnded {
			ended = append(ended, r.reportedSession.row.ID)
		} else {
			emptied = append(emptied, r.reportedSession.row.ID)
		}
	}
	if len(silent)+len(closing) == 0 {
		return
	}
	// All instances are locked at once, in the order of their ids: each of the statements below changes some of them.
	query.QueueExec(out, (*query.Queries).LockInstances,
		query.LockInstancesParams{Region: rt.region, Ids: append(closing, silent...)})
	var closed []uuid.UUID // which nothing needs
	if len(ended) > 0 {
		query.Queue(out, &closed, (*query.Queries).CloseSessions,
			query.CloseSessionsParams{Region: rt.region, Ids: ended, Reason: "ended"})
	}
	if len(emptied) > 0 {
		query.Queue(out, &closed, (*query.Queries).CloseSessions,
			query.CloseSessionsParams{Region: rt.region, Ids: emptied, Reason: "empty"})
	}
	if len(silent) > 0 {
		query.Queue(out, newReporters, (*query.Queries).StartReporting,
			query.StartReportingParams{Region: rt.region, InstanceIds: silent})
	}
}

// seatsToConnect returns the tokens to redeem, and the seats that their players take.
func (rt reportTx) seatsToConnect(reports []*report) (query.RedeemTokensParams, query.ConnectSeatsParams) {
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
			// Of several tokens of a player in one report, the last one holds the seat. All of them are redeemed.
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

// seatsToRelease returns the seats to free: those that are freed before others are taken, and those of visits, whose
// players joined and left in the same report, and whose joining is written first.
func (rt reportTx) seatsToRelease(reports []*report) (before, visits query.ReleaseSeatsParams) {
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
