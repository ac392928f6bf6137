package console

import (
	"context"

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
