package orchestrator

import (
	"context"
	"net/http"

	"github.com/lattice-director/director/internal/rivalis/roster"
)

// showStats answers GET /v1/stats.
func (s *REST) showStats(_ context.Context, in request) (answer, error) {
	return s.answerList(in, func(view *roster.View) answer {
		return dataAnswer(http.StatusOK, view.Stats().AppendJSON)
	})
}
