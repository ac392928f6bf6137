package console

import (
	"context"

	"github.com/google/uuid"

	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/match/explain"
)

// matchView is what templates/match.html reads.
type matchView struct {
	Match explain.Match
	Words string // the explanation as director explain prints it
}

// matchPage explains a match.
func matchPage(e Explainer) page[matchView] {
	return page[matchView]{routePath: "/matches/:id", templateName: "match",
		loadData: func(ctx context.Context, _ Store, q query) (v matchView, err error) {
			id, err := idParam(q, "match")
			if err != nil {
				return v, err
			}
			if v.Match, err = e.Match(ctx, id); err != nil {
				return v, err
			}
			v.Words = v.Match.Text()
			return v, nil
		}}
}

// idParam returns the parameter id of the path, a UUID. Errors: Invalid.
func idParam(q query, noun string) (uuid.UUID, error) {
	id, err := uuid.Parse(q.Param("id"))
	if err != nil {
		return id, &fault.Error{Kind: fault.Invalid, Code: "invalid", Field: "id",
			Detail: "the id of a " + noun + " is a UUID"}
	}
	return id, nil
}
