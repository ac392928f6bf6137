package orchestrator

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/server/rest"
)

// probes are the routes without a key.
var probes = []string{"/healthz", "/readyz"}

func (s *REST) mountProbes(r gin.IRouter) {
	mountGet(r, "/healthz", rest.Handle(http.StatusOK,
		func(context.Context, request) (answer, error) { return answerDone, nil }))
	mountGet(r, "/readyz", rest.Handle(http.StatusOK, func(ctx context.Context, _ request) (answer, error) {
		if s.options.Roster.View() == nil {
			return answer{}, errNotReady // the roster is not read yet, so lists cannot be answered
		}
		if s.options.CheckReady(ctx) != nil {
			return answer{}, errNotReady
		}
		return answerDone, nil
	}))
}
