package storetest

import (
	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/lobby"
)

// AddClient inserts the session of a client of the realtime lobby in region eu, as if a replica had connected it.
func (d *DB) AddClient(project, session, player string) {
	d.T.Helper()
	d.Exec(`INSERT INTO realtime_sessions (region, id, project, player, authenticated, ttl, owner)
		VALUES ('eu', $1, $2, $3, true, '30 s', gen_random_uuid())`, session, project, player)
}

// ActInRoom commits an action of a client of [DB.AddClient] in a room, which is made if it does not exist.
func (d *DB) ActInRoom(project, room, session string, act lobby.Action) {
	d.T.Helper()
	must.Get(d.ActInLobby(d.T.Context(), db.LobbyAction{Region: "eu", ProjectID: project, RoomID: room, MakesRoom: true,
		Session: db.SessionEpoch{ID: session, Epoch: 1}, Act: act}))(d.T)
}
