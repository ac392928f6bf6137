package storetest

import (
	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/lobby"
)

// AddClient connects a client of the realtime lobby in region eu.
func (d *DB) AddClient(project, session, player string) {
	d.T.Helper()
	d.Exec(`INSERT INTO realtime_sessions (region, id, project, player, authenticated, ttl, owner)
		VALUES ('eu', $1, $2, $3, true, '30 s', gen_random_uuid())`, session, project, player)
}

// ActInRoom commits an action of a client of AddClient in a room, which is made if there is none.
func (d *DB) ActInRoom(project, room, session string, act lobby.Action) {
	d.T.Helper()
	must.Get(d.ActInLobby(d.T.Context(), db.LobbyAction{Region: "eu", ProjectID: project, RoomID: room, MakesRoom: true,
		Session: db.SessionEpoch{ID: session, Epoch: 1}, Act: act}))(d.T)
}
