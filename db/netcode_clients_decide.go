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
	serverRow       query.ClientServersRow
	listedClients   map[uint64]bool
	seatsByClient   map[uint64]query.ListedClientsRow
	leftClients     []query.ConnectedClientsRow
	reportBySession map[string]*reportCall // by session, once the list was turned into seat reports
}

func newClientList(c *clientsCall) *clientList {
	l := &clientList{call: c, listedClients: make(map[uint64]bool, len(c.Req.ClientIDs)),
		seatsByClient: make(map[uint64]query.ListedClientsRow, len(c.Req.ClientIDs))}
	for _, id := range c.Req.ClientIDs {
		l.listedClients[id] = true
	}
	return l
}

// judge answers a list that cannot be applied.
func (l *clientList) judge(liveRegion func(directory, InstanceRef) (string, error)) {
	ref := l.call.Req.InstanceRef
	known := directory{}
	// Empty: no row was found, so that the directory knows no such instance.
	if r := l.serverRow; r.InstanceID != "" {
		known[r.InstanceID] = query.FindInstancesRow{
			InstanceID: r.InstanceID, Region: r.Region, Incarnation: r.Incarnation, Alive: r.Alive,
		}
	}
	_, err := liveRegion(known, ref)
	switch {
	case err != nil:
		l.call.Answer(ClientListResult{}, err)
	case !l.serverRow.Netcode:
		l.call.Answer(ClientListResult{}, fault.New(fault.Conflict, "no_connect_tokens",
			"players get no connect tokens for instance %q, so it has no clients to list: report its players as seats",
			ref.InstanceID))
	// A later list was applied first: this one is out of date and says nothing.
	case l.call.Req.Seq < l.serverRow.Seq:
		l.call.Answer(ClientListResult{}, nil)
	}
}

// holds adds a connected client of the server, which has left if it is not listed.
func (l *clientList) holds(r query.ConnectedClientsRow) {
	id, err := strconv.ParseUint(r.ClientID, 10, 64)
	// A name that is no number is of no connect token: this list says nothing about that connection.
	if err == nil && !l.listedClients[id] {
		l.leftClients = append(l.leftClients, r)
	}
}

// hasChanges reports whether the list differs from what is stored.
func (l *clientList) hasChanges() bool {
	joins := func(id uint64) bool { r, known := l.seatsByClient[id]; return known && !r.Connected }
	return !l.serverRow.ReportsSeats || len(l.leftClients) > 0 || slices.ContainsFunc(l.call.Req.ClientIDs, joins)
}

// makeReports returns the list as seat reports, one for each session that changes.
func (l *clientList) makeReports(ctx context.Context) (calls []*reportCall) {
	l.reportBySession = map[string]*reportCall{}
	of := func(session uuid.UUID) *SeatReport {
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
			report := of(r.SessionID)
			report.JoinedPlayers = append(report.JoinedPlayers,
				Joined{PlayerSub: r.Sub, JTI: name, ConnectionName: name})
		}
	}
	for _, r := range l.leftClients {
		report := of(r.SessionID)
		report.LeftPlayers = append(report.LeftPlayers, Left{PlayerSub: r.Sub, ConnectionName: r.ClientID})
	}
	return calls
}

// answer answers the list from the outcomes of its seat reports. A session that is not the server's any more has ended.
func (l *clientList) answer() {
	results := map[string]SeatResult{} // of joins, by client id in decimal
	for _, c := range l.reportBySession {
		// Another instance has the session by now, or it has ended: its joins get no result.
		if !c.IsAnswered() {
			continue
		}
		outcomes, _ := c.Result()
		for _, o := range outcomes.Outcomes {
			if o.JTI != "" {
				results[o.JTI] = o.Result
			}
		}
	}
	res := ClientListResult{IsApplied: true}
	for _, id := range l.call.Req.ClientIDs {
		r, known := l.seatsByClient[id]
		result, decided := results[strconv.FormatUint(id, 10)]
		switch {
		case !known:
			res.RefusedClients = append(res.RefusedClients, RefusedClient{id, SeatUnknown})
		case r.Connected || decided && result == SeatOK:
		case decided:
			res.RefusedClients = append(res.RefusedClients, RefusedClient{id, result})
		default:
			res.RefusedClients = append(res.RefusedClients, RefusedClient{id, SeatGone})
		}
	}
	l.call.Answer(res, nil)
}
