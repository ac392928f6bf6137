package provision

import (
	"context"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// NoteRefusedRegistration keeps, for operators, why a registration of a deployment's server was refused. Of the same
// text it writes at most one in ten seconds, and an event only for the first. A deployment that ends or is gone keeps
// none: its servers are refused in order. Errors: Unavailable.
func (s *Store) NoteRefusedRegistration(ctx context.Context, of Joining, why string) error {
	return frame.Classify(s.frame.Queries.NoteRefusedRegistration(ctx,
		query.NoteRefusedRegistrationParams{Region: of.Region, ID: of.ID, Refused: why}))
}
