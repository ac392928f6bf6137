package provision

import (
	"context"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// NoteRefusedRegistration stores, for operators, why a registration of a deployment's server was refused. The same
// reason is written at most once in ten seconds, and logged only the first time. For a deployment that ends or is gone
// it does nothing, since its servers are rightly refused. Errors: Unavailable.
func (s *Store) NoteRefusedRegistration(ctx context.Context, of Joining, why string) error {
	return frame.Classify(s.frame.Queries.NoteRefusedRegistration(ctx,
		query.NoteRefusedRegistrationParams{Region: of.Region, ID: of.ID, Refused: why}))
}
