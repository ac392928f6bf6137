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
	server          query.ClientServersRow
	listed          map[uint64]bool
	seats           map[uint64]query.ListedClientsRow
	leftClients     []query.ConnectedClientsRow
	reportBySession map[string]*reportCall // by session, once the list was turned into seat reports
}

func newClientList(c *clientsCall) *clientList {
	l := &clientList{call: c, listed: make(map[uint64]bool, len(c.Req.Clients)),
		seats: make(map[uint64]query.ListedClientsRow, len(c.Req.Clients))}
	for _, id := range c.Req.Clients {
		l.listed[id] = true
	}
	return l
}

// judge answers a list that cannot be applied.
func (l *clientList) judge(liveRegion func(directory, InstanceRef) (string, error)) {
	ref := l.call.Req.Ref
	known := directory{}
	if r := l.server; r.InstanceID != "" {
		known[r.InstanceID] = query.FindInstancesRow{
			InstanceID: r.InstanceID, Region: r.Region, Incarnation: r.Incarnation, Alive: r.Alive,
		}
	}
	_, err := liveRegion(known, ref)
	switch {
	case err != nil:
		l.call.Answer(ClientListResult{}, err)
	case !l.server.Netcode:
		l.call.Answer(ClientListResult{}, fault.New(fault.Conflict, "no_connect_tokens",
			"players get no connect tokens for instance %q, so it has no clients to list: report its players as seats",
			ref.InstanceID))
	// A later list was applied first: this one is out of date and says nothing.
	case l.call.Req.Seq < l.server.Seq:
		l.call.Answer(ClientListResult{}, nil)
	}
}

// holds adds a connected client of the server, which has left if it is not listed.
func (l *clientList) holds(r query.ConnectedClientsRow) {
	id, err := strconv.ParseUint(r.ClientID, 10, 64)
	if err == nil && !l.listed[id] {
		l.leftClients = append(l.leftClients, r)
	}
}

// changes reports whether the list differs from what is stored.
func (l *clientList) changes() bool {
	joins := func(id uint64) bool { r, known := l.seats[id]; return known && !r.Connected }
	return !l.server.ReportsSeats || len(l.leftClients) > 0 || slices.ContainsFunc(l.call.Req.Clients, joins)
}

// reports returns the list as seat reports, one for each session that changes.
func (l *clientList) reports(ctx context.Context) (calls []*reportCall) {
	l.reportBySession = map[string]*reportCall{}
	of := func(session uuid.UUID) *SeatReport {
		id := sessionID(l.server.Region, session)
		if l.reportBySession[id] == nil {
			l.reportBySession[id] = batch.NewCall[SeatReport, SeatReportResult](ctx,
				SeatReport{Ref: InstanceRef{l.server.InstanceID, &l.server.Incarnation}, SessionID: id})
			calls = append(calls, l.reportBySession[id])
		}
		return &l.reportBySession[id].Req
	}
	for _, id := range l.call.Req.Clients {
		// Connected already: an earlier list said so.
		if r, known := l.seats[id]; known && !r.Connected {
			name := strconv.FormatUint(id, 10)
			report := of(r.SessionID)
			report.Joined = append(report.Joined, Joined{Sub: r.Sub, JTI: name, Connection: name})
		}
	}
	for _, r := range l.leftClients {
		report := of(r.SessionID)
		report.LeftPlayers = append(report.LeftPlayers, Left{Sub: r.Sub, Connection: r.ClientID})
	}
	return calls
}

// answer answers the list from the outcomes of its seat reports. A session that is not the server's any more has ended.
func (l *clientList) answer() {
	results := map[string]SeatResult{} // of joins, by client id in decimal
	for _, c := range l.reportBySession {
		if !c.Answered() {
			continue
		}
		outcomes, _ := c.Result()
		for _, o := range outcomes.Outcomes {
			if o.JTI != "" {
				results[o.JTI] = o.Result
			}
		}
	}
	res := ClientListResult{Applied: true}
	for _, id := range l.call.Req.Clients {
		r, known := l.seats[id]
		result, decided := results[strconv.FormatUint(id, 10)]
		switch {
		case !known:
			res.Refused = append(res.Refused, RefusedClient{id, SeatUnknown})
		case r.Connected || decided && result == SeatOK:
		case decided:
			res.Refused = append(res.Refused, RefusedClient{id, result})
		default:
			res.Refused = append(res.Refused, RefusedClient{id, SeatGone})
		}
	}
	l.call.Answer(res, nil)
}
