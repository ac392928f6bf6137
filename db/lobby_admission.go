package db

import (
	"cmp"
	"context"

	"github.com/lattice-director/director/db/query"
)

// refuseUnadmitted refuses rooms that enter the queue by an action of a member while one of their players is not
// admitted. All members get a place in the line, since they are in the room by their own will. A request that names a
// room was judged before. The row of the line is locked last, after sessions and rooms, and only where a member has no
// place yet.
func (t *queueTurn) refuseUnadmitted(ctx context.Context, changes []lobbyQueueChange, parties []*party,
	refused *query.RefuseLobbyParams) error {
	line, err := t.store.LoginLine(ctx, t.universe, "")
	if err != nil || line == nil {
		return err
	}
	turn := admissionTurn{valveName: line.row.Name, q: t.q, rows: map[string]query.ReadAdmissionsRow{}}
	var calls []*admissionCall
	for i, p := range parties {
		if p != nil && p.origin == fromRoom {
			calls = append(calls, &admissionCall{Req: entering(changes[i])})
		}
	}
	if err := turn.decide(ctx, calls); err != nil {
		// Like a room that may not queue for another reason: a worker tells it why.
		return err
	}
	for i, p := range parties {
		if p == nil || p.origin != fromRoom {
			continue
		}
		r := entering(changes[i])
		for n, got := range turn.answer(r) {
			if !got.isAdmitted {
				addLobbyToRefuse(refused, changes[i].LobbyUID, refuseWaiting(line, r.playerSubs[n], false, got))
				parties[i] = nil
				break
			}
		}
	}
	return nil
}

// entering asks for the admissions of the members of a room.
func entering(c lobbyQueueChange) (r admissionRequest) {
	for _, m := range c.Members {
		r.playerSubs = append(r.playerSubs, cmp.Or(m.Player, m.Session))
	}
	r.joiningCount = len(r.playerSubs)
	return r
}
