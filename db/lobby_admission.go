package db

import (
	"cmp"
	"context"

	"github.com/lattice-director/director/db/query"
)

// refuseUnadmitted refuses rooms that enter the queue by an action of a member while one of their players is not
// admitted: it sets their party to nil, and adds them to refused. All members get a place in the line, since each of
// them has chosen to be in the room. Rooms that queue by a request were judged before the transaction. The row of the
// line is locked last, after sessions and rooms, and only where a member has no place yet.
func (t *queueTurn) refuseUnadmitted(ctx context.Context, changes []lobbyQueueChange, parties []*party,
	refused *query.RefuseLobbyParams) error {
	line, err := t.store.DecidingLine(ctx, t.universe, "")
	if err != nil || line == nil {
		return err
	}
	turn := admissionTurn{valveName: line.row.Name, q: t.q, rows: map[string]query.ReadAdmissionsRow{}}
	var calls []*admissionCall
	for i, p := range parties {
		if p != nil && p.origin == fromRoom {
			calls = append(calls, &admissionCall{Req: admissionOfMembers(changes[i])})
		}
	}
	if err := turn.decide(ctx, calls); err != nil {
		return err
	}
	for i, p := range parties {
		if p == nil || p.origin != fromRoom {
			continue
		}
		r := admissionOfMembers(changes[i])
		for n, memberAdmission := range turn.takeAnswer(r) {
			if !memberAdmission.isAdmitted {
				addLobbyToRefuse(refused, changes[i].LobbyUID, refuseMember(line, r.playerSubs[n], memberAdmission))
				parties[i] = nil
				break
			}
		}
	}
	return nil
}

// admissionOfMembers returns the request for the admissions of the members of a room.
func admissionOfMembers(c lobbyQueueChange) (r admissionRequest) {
	for _, m := range c.Members {
		r.playerSubs = append(r.playerSubs, cmp.Or(m.Player, m.Session))
	}
	r.joiningCount = len(r.playerSubs)
	return r
}
