package db

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/internal/batch"
	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// Resolved is the endpoint of a seat, and the claims of a session token for it. The times are the database's, to the
// second.
type Resolved struct {
	SessionID     string
	SessionHandle string
	Endpoint      string
	Region        string
	Mode          string
	MaxPlayers    int       // seats of the session
	PartyID       uuid.UUID // the same for all players that were placed together
	MatchID       uuid.UUID // zero where the seat is of no match
	TeamName      string    // of the player in the match; empty where the match has no teams
	IssuedAt      time.Time
	ExpiresAt     time.Time
	NetcodeSeat   *NetcodeSeat // nil where the session's server takes no netcode connect tokens
}

type resolveRequest struct{ sessionHandle, playerSub string }

type resolveCall = batch.Call[resolveRequest, Resolved]

func (r resolveRequest) bytes() int { return textBytes(r.sessionHandle, r.playerSub) }

// Resolve exchanges a handle for the endpoint of the player's seat, and holds the seat until the token that is issued
// for it has expired. Where the session's server takes netcode connect tokens, each call inserts the client id of one.
// Errors: NotFound for an unknown handle, also of a session that closed longer ago than Timing.ClosedMemory; Gone for a
// session that has ended; Forbidden for a player without a seat in it; Elsewhere; Unavailable, also while the
// session's room is being created.
func (s *Store) Resolve(ctx context.Context, handle, sub string) (Resolved, error) {
	region, ok := parseHandle(handle)
	if !ok {
		return Resolved{}, sessionUnknown()
	}
	if err := s.CheckHere(region); err != nil {
		return Resolved{}, err
	}
	resolved, err := s.batchGroups.seatResolves.Do(ctx, region, resolveRequest{handle, sub})
	// The wait is outside the batch, whose other calls must not wait for the room of this session.
	if isRoomPending(err) {
		return s.resolveInRoom(ctx, region, resolveRequest{handle, sub})
	}
	return resolved, err
}

func sessionUnknown() error { return fault.New(fault.NotFound, "session_unknown", "no such session") }

func sessionClosed() error {
	return fault.New(fault.Gone, "session_closed", "the session has ended: request a match again")
}

// resolveSeatBatch decides a batch of resolves in one statement. The sessions of calls that find no seat are read once
// more, for the reason.
func (s *Store) resolveSeatBatch(ctx context.Context, region string, calls []*resolveCall) error {
	t := s.cfg.Timing
	p := query.ResolveSeatsParams{
		Region: region, ClientIds: newClientIDs(len(calls)),
		TokenHold: t.TokenTTL + t.ConnectGrace, NetcodeHold: t.netcodeHold(), LongestHold: t.LongestHold,
		UnreportedHold: t.UnreportedSeatTTL,
	}
	for _, c := range calls {
		p.Handles = append(p.Handles, c.Req.sessionHandle)
		p.Subs = append(p.Subs, c.Req.playerSub)
	}
	rows, err := s.q.ResolveSeats(ctx, p)
	if err != nil {
		return err
	}
	found := make(map[resolveRequest]Resolved, len(rows))
	for _, r := range rows {
		resolved, err := resolvedSeat(r, region, t)
		if err != nil {
			return err
		}
		found[resolveRequest{r.Handle, r.Sub}] = resolved
	}
	var missing []*resolveCall
	for _, c := range calls {
		r, isFound := found[c.Req]
		if !isFound {
			missing = append(missing, c)
			continue
		}
		if r.NetcodeSeat == nil {
			c.Answer(r, nil)
			continue
		}
		c.Answer(r, r.NetcodeSeat.checkAddress())
		// A client id is of one token: a second call of the player is missing then, and waits for the next batch.
		delete(found, c.Req)
	}
	return s.explainMissing(ctx, region, missing)
}

// resolvedSeat returns the claims for the token of a seat, and what the player needs to connect.
func resolvedSeat(r query.ResolveSeatsRow, region string, t Timing) (resolved Resolved, err error) {
	// Truncated, since tokens have times in seconds: the answer has the same ones.
	issued := r.IssuedAt.Truncate(time.Second)
	resolved = Resolved{
		SessionID: sessionID(region, r.SessionID), SessionHandle: r.Handle, Endpoint: r.Endpoint, Region: region,
		Mode: r.Mode, MaxPlayers: int(r.MaxPlayers), PartyID: r.Party, TeamName: r.Team, IssuedAt: issued,
		ExpiresAt: issued.Add(t.TokenTTL),
	}
	if r.MatchID != nil {
		resolved.MatchID = *r.MatchID
	}
	if r.Netcode != nil {
		resolved.NetcodeSeat, err = netcodeSeatOf(r, issued, t)
	}
	return resolved, err
}

// explainMissing answers calls without a seat: the session never existed, has ended, or has no seat for the player. A
// call whose seat changed meanwhile stays for the next batch.
func (s *Store) explainMissing(ctx context.Context, region string, calls []*resolveCall) error {
	if len(calls) == 0 {
		return nil
	}
	p := query.UnresolvedParams{Region: region, Memory: s.cfg.Timing.ClosedMemory}
	for _, c := range calls {
		p.Handles = append(p.Handles, c.Req.sessionHandle)
		p.Subs = append(p.Subs, c.Req.playerSub)
	}
	rows, err := s.q.Unresolved(ctx, p)
	if err != nil {
		return err
	}
	reasons := make(map[resolveRequest]error, len(rows))
	ended := query.WhereEvacuatedParams{Region: region}
	for _, r := range rows {
		reasons[resolveRequest{r.Handle, r.Sub}] = unresolvedReason(r)
		if r.Ended && !r.Live {
			ended.Handles = append(ended.Handles, r.Handle)
			ended.Subs = append(ended.Subs, r.Sub)
		}
	}
	if err := s.addEvacuations(ctx, ended, reasons); err != nil {
		return err
	}
	for _, c := range calls {
		if reason := reasons[c.Req]; reason != nil {
			c.Answer(Resolved{}, reason)
		}
	}
	return nil
}

// addEvacuations replaces the errors of players whom an evacuation took out of sessions that have ended: the new ones
// say where the players went.
func (s *Store) addEvacuations(ctx context.Context, ended query.WhereEvacuatedParams,
	reasons map[resolveRequest]error) error {
	if len(ended.Handles) == 0 {
		return nil
	}
	rows, err := s.q.WhereEvacuated(ctx, ended)
	for _, r := range rows {
		moved := fault.New(fault.Gone, "session_closed", "the session was evacuated: you wait or play elsewhere")
		moved.TicketID, moved.SessionHandle = r.NextTicket, r.NextHandle
		reasons[resolveRequest{r.Handle, r.Sub}] = moved
	}
	return err
}

// unresolvedReason returns why a seat was not resolved; nil: there is no reason any more.
func unresolvedReason(r query.UnresolvedRow) error {
	switch {
	case r.AwaitsRoom && r.Seated:
		return roomPending()
	// The seat was locked, or was given meanwhile: the next batch resolves it.
	case r.Live && r.Seated:
		return nil
	case r.Live:
		return fault.New(fault.Forbidden, "no_seat", "you hold no seat in this session")
	case r.Ended:
		return sessionClosed()
	default:
		return sessionUnknown()
	}
}

// Session returns an open session by its id, without a seat. Errors: NotFound, Gone, Elsewhere, Unavailable.
func (s *Store) Session(ctx context.Context, id string) (Placement, error) {
	region, uid, ok := parseSessionID(id)
	if !ok {
		return Placement{}, sessionUnknown()
	}
	if err := s.CheckHere(region); err != nil {
		return Placement{}, err
	}
	row, err := s.q.GetSession(ctx, query.GetSessionParams{Region: region, ID: uid})
	if errors.Is(err, pgx.ErrNoRows) {
		return Placement{}, s.explainNoSession(ctx, region, uid)
	}
	if err != nil {
		return Placement{}, frame.Classify(err)
	}
	return Placement{
		SessionID: sessionID(region, uid), SessionHandle: row.Handle, Endpoint: row.Endpoint, Region: region,
		Mode:        row.Mode,
		PlayerCount: int(row.PlayerCount), MaxPlayers: int(row.MaxPlayers),
	}, nil
}

// explainNoSession returns why a session is not open: it has ended, or, also if it ended longer ago than
// Timing.ClosedMemory, is unknown.
func (s *Store) explainNoSession(ctx context.Context, region string, session uuid.UUID) error {
	hasEnded, err := s.q.SessionEnded(ctx,
		query.SessionEndedParams{Region: region, ID: session, Memory: s.cfg.Timing.ClosedMemory})
	if err != nil {
		return frame.Classify(err)
	}
	if hasEnded {
		return sessionClosed()
	}
	return sessionUnknown()
}
