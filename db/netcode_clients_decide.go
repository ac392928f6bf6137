package db

import (
	"context"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/batch"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// clientList is a list while it is being decided.
type clientList struct {
	call            *clientsCall
	serverRow       query.ClientServersRow // the zero value: no instance with this id is known
	listedClients   map[uint64]bool
	seatsByClient   map[uint64]query.ListedClientsRow // of the listed clients that have a token for the server
	leftClients     []query.ConnectedClientsRow       // connected until now, and not listed
	reportBySession map[string]*reportCall            // what makeReports returned, by public id of the session
}

func newClientList(c *clientsCall) *clientList {
	l := &clientList{call: c, listedClients: make(map[uint64]bool, len(c.Req.ClientIDs)),
		seatsByClient: make(map[uint64]query.ListedClientsRow, len(c.Req.ClientIDs))}
	for _, id := range c.Req.ClientIDs {
		l.listedClients[id] = true
	}
	return l
}

// judge reports whether a list is to be applied. If it is not, refusal is the error of its server; nil: a later list
// was applied first, so that this one is out of date and says nothing.
func (l *clientList) judge(liveRegion func(directory, InstanceRef) (string, error)) (applies bool, refusal error) {
	ref := l.call.Req.InstanceRef
	known := directory{}
	if r := l.serverRow; r.InstanceID != "" {
		known[r.InstanceID] = query.FindInstancesRow{
			InstanceID: r.InstanceID, Region: r.Region, Incarnation: r.Incarnation, Alive: r.Alive,
		}
	}
	if _, err := liveRegion(known, ref); err != nil {
		return false, err
	}
	if !l.serverRow.Netcode {
		return false, fault.New(fault.Conflict, "no_connect_tokens",
			"players get no connect tokens for instance %q, so it has no clients to list: report its players as seats",
			ref.InstanceID)
	}
	return l.call.Req.Seq >= l.serverRow.Seq, nil
}

// addConnected adds a client that is connected as far as is stored. It has left if it is not listed.
func (l *clientList) addConnected(r query.ConnectedClientsRow) {
	id, err := strconv.ParseUint(r.ClientID, 10, 64)
	// The connection of a player without a connect token has the jti of its session token as its name, which is no number.
	// The list says nothing about such connections.
	if err == nil && !l.listedClients[id] {
		l.leftClients = append(l.leftClients, r)
	}
}

// hasChanges reports whether the list differs from what is stored.
func (l *clientList) hasChanges() bool {
	joins := func(id uint64) bool { r, known := l.seatsByClient[id]; return known && !r.Connected }
	return !l.serverRow.ReportsSeats || len(l.leftClients) > 0 || slices.ContainsFunc(l.call.Req.ClientIDs, joins)
}

// makeReports returns the list as seat reports, one for each session that changes. From their outcomes answer makes the
// answer to the list.
func (l *clientList) makeReports(ctx context.Context) (calls []*reportCall) {
	l.reportBySession = map[string]*reportCall{}
	reportOf := func(session uuid.UUID) *SeatReport {
		id := sessionID(l.serverRow.Region, session)
		if l.reportBySession[id] == nil {
			l.reportBySession[id] = batch.NewCall[SeatReport, SeatReportResult](ctx,
				SeatReport{InstanceRef: InstanceRef{l.serverRow.InstanceID, &l.serverRow.Incarnation}, SessionID: id})
			calls = append(calls, l.reportBySession[id])
		}
		return &l.reportBySession[id].Req
	}
	for _, id := range l.call.Req.ClientIDs {
		// Connected already: an earlier list said so.
		if r, known := l.seatsByClient[id]; known && !r.Connected {
			name := strconv.FormatUint(id, 10)
			report := reportOf(r.SessionID)
			report.JoinedPlayers = append(report.JoinedPlayers,
				Joined{PlayerSub: r.Sub, JTI: name, ConnectionName: name})
		}
	}
	for _, r := range l.leftClients {
		report := reportOf(r.SessionID)
		report.LeftPlayers = append(report.LeftPlayers, Left{PlayerSub: r.Sub, ConnectionName: r.ClientID})
	}
	return calls
}

// answer answers the list from the outcomes of its seat reports.
func (l *clientList) answer() {
	joinResults := map[string]SeatResult{} // by client id in decimal
	for _, c := range l.reportBySession {
		// The session has ended, or is another instance's by now: its clients have no result.
		if !c.IsAnswered() {
			continue
		}
		outcomes, _ := c.Result()
		for _, o := range outcomes.Outcomes {
			if o.JTI != "" {
				joinResults[o.JTI] = o.Result
			}
		}
	}
	answer := ClientListResult{IsApplied: true}
	for _, id := range l.call.Req.ClientIDs {
		if result := l.resultOf(id, joinResults); result != SeatOK {
			answer.RefusedClients = append(answer.RefusedClients, RefusedClient{id, result})
		}
	}
	l.call.Answer(answer, nil)
}

// resultOf returns what a listed client has: SeatOK for a seat, or why it has none.
func (l *clientList) resultOf(client uint64, joinResults map[string]SeatResult) SeatResult {
	row, known := l.seatsByClient[client]
	if !known {
		return SeatUnknown
	}
	// An earlier list has seated it.
	if row.Connected {
		return SeatOK
	}
	if result, decided := joinResults[strconv.FormatUint(client, 10)]; decided {
		return result
	}
	return SeatGone
}
