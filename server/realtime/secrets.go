package realtime

import (
	"context"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/token"
)

// secrets finds the secrets that may have signed a token: the project's, which needs no database, and that of the key
// that the token names.
type secrets struct {
	store          *db.Store
	projectSecrets token.ProjectSecrets
}

func newSecrets(store *db.Store, o Options) *secrets {
	return &secrets{store, token.ProjectSecrets{Master: o.MasterSecret, Projects: o.ProjectSecrets, Sealer: o.Sealer,
		KeysOnly: o.KeySecretsOnly}}
}

// forRequest returns the function that token.VerifyProject calls. Its errors are those of the store, and
// token.ErrSealed.
func (s *secrets) forRequest(ctx context.Context) func(project, key string) ([]string, error) {
	return func(project, key string) ([]string, error) {
		sealed, err := s.sealedSecret(ctx, project, key)
		if err != nil {
			return nil, err
		}
		return s.projectSecrets.Verifying(project, key, sealed)
	}
}

// sealedSecret returns the sealed secret of a key, or nil if there is no such key. The store caches either answer.
func (s *secrets) sealedSecret(ctx context.Context, project, key string) ([]byte, error) {
	if key == "" { // signed with the secret of the project
		return nil, nil
	}
	sealed, err := s.store.ProjectKeySecret(ctx, project, key)
	// Not refused here: the token may be signed with the secret of its project, and the store refuses a key that is not
	// known when it opens the session.
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	return sealed, err
}
