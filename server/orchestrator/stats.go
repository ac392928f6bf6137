package orchestrator

import (
	"context"
	"net/http"

	"github.com/lattice-director/director/internal/rivalis/roster"
)

// stats answers GET /v1/stats.
func (s *REST) stats(_ context.Context, in request) (answer, error) {
	return s.list(in, func(view *roster.View) answer { return dataAnswer(http.StatusOK, view.Stats().AppendJSON) })
}
