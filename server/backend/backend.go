// Package backend is the face by which the studio's own services store what they say of players, which profiles may take
// from nobody else. It translates JSON into calls of the store. Routes by which backends queue players are in package
// play.
package backend

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/server/rest"
)

// Mount adds the routes of this face. They belong behind rest.RequireBackend, whose name of the backend the handlers
// read with rest.Caller.
func Mount(r gin.IRouter, store Store, region string) {
	f := face{store, region}
	r.PUT("/backend/players", rest.Handle(http.StatusOK, f.storePlayers))
	r.PUT("/backend/players/:sub", rest.Handle(http.StatusOK, f.storePlayer))
	r.GET("/backend/players/:sub", rest.Handle(http.StatusOK, f.showPlayer))
	r.DELETE("/backend/players/:sub", rest.Handle(http.StatusOK, f.forgetPlayer))
}
