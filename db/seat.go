package db

import (
	"context"

	"github.com/lattice-director/director/db/internal/frame"
)

// SeatReport is an instance's report about the players of one of its sessions. Joined is applied before Left.
type SeatReport struct {
	InstanceRef   InstanceRef
	SessionID     string
	JoinedPlayers []Joined
	LeftPlayers   []Left
	HasEnded      bool // the session is over
}

// Joined is a player who connected with the session token whose id is JTI. ConnectionName is the game server's name for
// the connection, unique among all its connections. Where it is empty, a retry cannot be distinguished from a replay.
type Joined struct{ PlayerSub, JTI, ConnectionName string }

// Left is a player who is gone. With a ConnectionName the seat is freed only if that connection holds it.
type Left struct{ PlayerSub, ConnectionName string }

// SeatResult is the result of one entry of a report.
type SeatResult string

// The results of an entry.
const (
	SeatOK        SeatResult = "ok"         // done, or done before
	SeatReplay    SeatResult = "replay"     // that token was used before: refuse the player
	SeatGone      SeatResult = "seat_gone"  // the seat was freed and the session is full: refuse the player
	SeatUnknown   SeatResult = "unknown"    // the player never had a seat in this session
	SeatNotHolder SeatResult = "not_holder" // the connection that ended does not hold the seat: nothing changed
)

// SeatOutcome is the result of one entry.
type SeatOutcome struct {
	PlayerSub string
	JTI       string // empty for a player who left
	Result    SeatResult
}

// SeatReportResult is the answer to a report: an outcome for each entry, those that joined first.
type SeatReportResult struct {
	Outcomes    []SeatOutcome
	JoinedCount int  // entries of players who joined that were ok
	LeftCount   int  // entries of players who left that were ok
	PlayerCount int  // in the session, after the report
	IsClosed    bool // the session is closed: by this report, or before
}

// ReportSeats applies a report of players that joined and left. A report can be repeated. In a report about a session
// that is closed, or belongs to another instance, all players are unknown. Errors: NotFound or Superseded for the
// instance, Unavailable.
func (s *Store) ReportSeats(ctx context.Context, r SeatReport) (SeatReportResult, error) {
	region, _, ok := parseSessionID(r.SessionID)
	// An id that names no session has no region, and so no batch.
	if !ok {
		known, err := findInstances(ctx, s.q, r.InstanceRef)
		if err != nil {
			return SeatReportResult{}, frame.Classify(err)
		}
		return known.reportOnForeign(r)
	}
	if err := s.CheckHere(region); err != nil {
		return SeatReportResult{}, err
	}
	return s.batchGroups.seatReports.Do(ctx, region, r)
}

// reportOnForeign answers a report about a session that is not the instance's, or does not exist.
func (d directory) reportOnForeign(r SeatReport) (SeatReportResult, error) {
	if _, err := d.liveRegion(r.InstanceRef); err != nil {
		return SeatReportResult{}, err
	}
	res := SeatReportResult{IsClosed: true}
	for _, j := range r.JoinedPlayers {
		res.Outcomes = append(res.Outcomes, SeatOutcome{j.PlayerSub, j.JTI, SeatUnknown})
	}
	for _, l := range r.LeftPlayers {
		res.Outcomes = append(res.Outcomes, SeatOutcome{l.PlayerSub, "", SeatUnknown})
	}
	return res, nil
}

// weight counts the entries of a report, and the report itself, which may have none.
func (r SeatReport) weight() int { return 1 + len(r.JoinedPlayers) + len(r.LeftPlayers) }

func (r SeatReport) bytes() int {
	n := textBytes(r.InstanceRef.InstanceID, r.SessionID)
	for _, j := range r.JoinedPlayers {
		n += textBytes(j.PlayerSub, j.JTI, j.ConnectionName)
	}
	for _, l := range r.LeftPlayers {
		n += textBytes(l.PlayerSub, l.ConnectionName)
	}
	return n
}
