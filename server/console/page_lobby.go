package console

import (
	"context"
	"net/url"
	"time"

	"github.com/lattice-director/director/db"
)

// lobbyView is what templates/lobby.html reads.
type lobbyView struct{ Room db.LobbyDetails }

// lobbyPage shows a room of the realtime lobby. Its project and id are parameters, because strangers choose them.
var lobbyPage = page[lobbyView]{routePath: "/lobby", templateName: "lobby", readEvery: 2 * time.Second,
	loadData: func(ctx context.Context, s Store, q query) (v lobbyView, err error) {
		v.Room, err = s.ReadLobby(ctx, q.Exactly("project"), q.Exactly("room"))
		return v, err
	}}

// lobbyPath returns the page of the room that a query names.
func lobbyPath(q query) string {
	return query{escapedPath: lobbyPage.routePath,
		values: url.Values{"project": {q.Exactly("project")}, "room": {q.Exactly("room")}}}.URL()
}
