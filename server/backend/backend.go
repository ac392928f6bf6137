// Package backend is the face that the studio's own services call: what they say of players, which profiles may take
// from nobody else. It translates JSON into calls of the store. Queueing for players is in package play, which queues.
package backend

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/server/rest"
)

// Store is the part of db.Store that this face calls.
type Store interface {
	StorePlayers(ctx context.Context, region, author string, players []db.StoredPlayer) (changed int, err error)
	StoredPlayers(ctx context.Context, region string, subs []string) (map[string]db.StoredPlayer, error)
	ForgetPlayer(ctx context.Context, region, author, sub string) (known bool, err error)
}

type face struct {
	store  Store
	region string // of the queue
}

// Mount adds the routes of this face. They belong behind rest.RequireBackend, whose name of the backend the handlers read with
// rest.Caller.
func Mount(r gin.IRouter, store Store, region string) {
	f := face{store, region}
	r.PUT("/backend/players", rest.Handle(http.StatusOK, f.putAll))
	r.PUT("/backend/players/:sub", rest.Handle(http.StatusOK, f.storePlayer))
	r.GET("/backend/players/:sub", rest.Handle(http.StatusOK, f.showPlayer))
	r.DELETE("/backend/players/:sub", rest.Handle(http.StatusOK, f.forgetPlayer))
}
