// Package hook is the face that providers of game servers call: the webhook of a deployment, whose URL the provider got
// with the call that started it. A webhook only means that something has changed: its body is not trusted and not read,
// and a worker asks the provider. The URL holds a credential of the deployment, which any replica verifies without a
// query.
package hook

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/token"
)

// Store is the part of db.Store that this face calls.
type Store interface {
	WakeDeployment(ctx context.Context, region string, id uuid.UUID) error
}

type face struct {
	store        Store
	serverTokens *token.ServerTokens
}

// Mount adds POST /hooks/<region>/<id>/<mac>.
func Mount(r gin.IRouter, store Store, tokens *token.ServerTokens) {
	f := face{store, tokens}
	r.POST("/hooks/:region/:id/:mac", rest.Handle(http.StatusNoContent, f.wakeDeployment))
}

// wakeDeployment makes the next step of a deployment due at once. It answers 404 to a caller without the credential,
// whether the deployment exists or not.
func (f face) wakeDeployment(ctx context.Context, in rest.In[rest.None]) (rest.None, error) {
	d := token.Deployment{Region: in.Param("region"), ID: in.Param("id")}
	_, ok := f.serverTokens.VerifyMAC(token.ForHook, d, in.Param("mac"))
	id, err := uuid.Parse(d.ID)
	if !ok || err != nil {
		return rest.None{}, &fault.Error{Kind: fault.NotFound, Code: "route_not_found",
			Detail: "there is no such webhook"}
	}
	return rest.None{}, f.store.WakeDeployment(ctx, d.Region, id)
}
