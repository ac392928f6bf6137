package ops

import (
	"context"
	"encoding/json"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/lobby"
	"github.com/lattice-director/director/lobby/esjson"
	"github.com/lattice-director/director/server/rest"
)

// playerMessage is a message to a player.
type playerMessage struct {
	Project string          `json:"project"`
	Player  string          `json:"player"`
	Type    string          `json:"type"`
	Data    json.RawMessage `json:"data"`
}

// Validate implements rest.Validator.
func (r *playerMessage) Validate(c *rest.Check) {
	c.That(lobby.ValidID(r.Project), "project", "must have 1 to 128 bytes without spaces and control characters")
	checkPlayer(c, r.Player)
	checkMessage(c, r.Type, r.Data)
}

// reachedAnswer says to how many connections a message went.
type reachedAnswer struct {
	Reached int `json:"reached"`
}

// messagePlayer sends a player a message, which waits for it if it is not connected.
func (f lobbyFace) messagePlayer(ctx context.Context, in rest.In[playerMessage]) (reachedAnswer, error) {
	region, err := f.store.ProjectRegion(ctx, in.Body.Project)
	if fault.Is(err, fault.NotFound) {
		// The error is that of a room that is not there: without its project there is no lobby.
		return reachedAnswer{}, fault.New(fault.NotFound, "lobby_unknown", "there is no such project")
	}
	if err != nil {
		return reachedAnswer{}, err
	}
	data, _ := esjson.ParseText(in.Body.Data) // part of a body that was valid JSON; absent data is null
	n, err := f.store.SendToPlayer(ctx, db.NewPlayerMessage{Region: region, ProjectID: in.Body.Project,
		Recipient: in.Body.Player, Type: in.Body.Type, Data: esjson.Append(nil, data),
		EventKind: "lobby.player_messaged", EventActor: rest.Caller(ctx)})
	return reachedAnswer{n}, err
}
