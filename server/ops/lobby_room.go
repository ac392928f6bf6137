package ops

import (
	"context"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/server/rest"
)

// showRoom returns a room with its members.
func (f lobbyFace) showRoom(ctx context.Context, in rest.In[rest.None]) (db.LobbyDetails, error) {
	name := roomName{in.Query("project"), in.Query("room")}
	var c rest.Check
	name.checkIDs(&c)
	if err := c.Err(); err != nil {
		return db.LobbyDetails{}, err
	}
	return f.store.ReadLobby(ctx, name.project, name.room)
}
