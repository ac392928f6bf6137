package ops

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/lattice-director/director/match/explain"
	"github.com/lattice-director/director/server/rest"
)

// Reader explains tickets and matches; internal/matching/explainer implements it.
type Reader interface {
	Ticket(ctx context.Context, id string) (explain.Ticket, error)
	Match(ctx context.Context, id uuid.UUID) (explain.Match, error)
}

// MountExplain adds the routes that explain tickets and matches. Calls may take seconds, and the reader bounds how many
// run.
func MountExplain(r gin.IRouter, reader Reader) {
	r.GET("/ops/explain/tickets/:id", rest.Handle(http.StatusOK,
		func(ctx context.Context, in rest.In[rest.None]) (explain.Ticket, error) {
			return reader.Ticket(ctx, in.Param("id"))
		}))
	r.GET("/ops/explain/matches/:id", rest.Handle(http.StatusOK,
		func(ctx context.Context, in rest.In[rest.None]) (explain.Match, error) {
			id, err := uuid.Parse(in.Param("id"))
			if err != nil {
				return explain.Match{}, invalidError("id", "must be the id of a match, a UUID")
			}
			return reader.Match(ctx, id)
		}))
}
