package play

import (
	"context"

	"github.com/lattice-director/director/server/rest"
)

// placement is the answer about a session.
type placement struct {
	SessionID     string `json:"session_id"`
	SessionHandle string `json:"session_handle"`
	Endpoint      string `json:"endpoint"`
	Region        string `json:"region"`
	Mode          string `json:"mode"`
	PlayerCount   int    `json:"player_count"`
	MaxPlayers    int    `json:"max_players"`
}

func (f face) showSession(ctx context.Context, in rest.In[rest.None]) (placement, error) {
	p, err := f.store.Session(ctx, in.Param("id"))
	logSession(ctx, p.SessionID)
	return placement(p), err
}
