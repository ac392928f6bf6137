// Package ops is the face that operators call: profiles and their versions, and explanations of tickets and matches, as
// specified in api/openapi.yaml. It translates JSON into calls of the store; db decides about versions, and
// match/profile reads documents. Authentication and limits are set where server mounts the routes.
package ops

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/match/profile"
	"github.com/lattice-director/director/server/rest"
)

// Store is the part of db.Store that this face calls.
type Store interface {
	Profiles(ctx context.Context, region string, retired bool) ([]db.ProfileInfo, error)
	Profile(ctx context.Context, region, name string, version int) (db.ProfileVersion, error)
	ApplyProfile(ctx context.Context, edit db.ProfileEdit, document []byte, shadow bool) (db.ProfileChange, error)
	RollbackProfile(ctx context.Context, edit db.ProfileEdit, version int) (db.ProfileChange, error)
	RetireProfile(ctx context.Context, edit db.ProfileEdit) (db.ProfileChange, error)
}

type face struct {
	store  Store
	region string
}

// Mount adds the routes of this face under /ops. The profiles are those of a region of tickets.
func Mount(r gin.IRouter, store Store, region string) {
	f := face{store, region}
	r.GET("/ops/profiles", rest.Handle(http.StatusOK, f.listProfiles))
	r.GET("/ops/profiles/schema", serveSchema)
	r.GET("/ops/profiles/:name", rest.Handle(http.StatusOK, f.showProfile))
	r.PUT("/ops/profiles/:name", rest.Handle(http.StatusOK, f.applyProfile))
	r.DELETE("/ops/profiles/:name", rest.Handle(http.StatusOK, f.retireProfile))
	r.POST("/ops/profiles/:name/rollback", rest.Handle(http.StatusOK, f.rollBackProfile))
}

func serveSchema(c *gin.Context) { c.Data(http.StatusOK, "application/schema+json", profile.Schema()) }
