package worker

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/lattice-director/director/provider"
)

// fallBack leaves the deployment to the fallback provider of its app version. Nothing of it may be at its provider:
// another worker, which may not have that provider, would have to look for it.
func (s *step) fallBack(ctx context.Context) error {
	moved, err := s.provisioner.store.MoveToFallback(ctx, &s.deployment, s.appVersion.Fallback.Provider)
	if moved {
		s.provisioner.log.LogAttrs(ctx, slog.LevelWarn,
			"the provider has no room: a deployment starts at the fallback provider",
			slog.String("app", s.appVersion.Name()),
			slog.String("region", s.deployment.Region), slog.String("provider", s.appVersion.Fallback.Provider),
			slog.String("error", s.deployment.LastError))
	}
	return err
}

// fallsBack reports whether a deployment for which its provider has no room starts at another one.
func (s *step) fallsBack(cause error, earlierIntent *time.Time) bool {
	refused, ok := errors.AsType[*provider.Error](cause)
	// Not back to the first provider, nor to the one that it is at: a deployment moves once.
	return s.appVersion.Fallback != nil && s.deployment.Provider == s.appVersion.Provider &&
		s.appVersion.Fallback.Provider != s.deployment.Provider &&
		earlierIntent == nil && ok && refused.Ref == ""
}
