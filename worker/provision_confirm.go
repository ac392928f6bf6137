package worker

import (
	"context"
	"log/slog"

	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/provider"
)

// confirm asks the provider about the ref with which the server of a deployment has registered, while no answer of
// Deploy has said one. The deployment adopts it if the provider knows it under the deployment's tag.
func (s *step) confirm(ctx context.Context) error {
	var o provider.Observation
	err := s.call(ctx, opGet, func(ctx context.Context) (err error) {
		o, err = s.provider.Get(ctx, s.d.ClaimedRef)
		return err
	})
	// An answer that the ref is wrong is an answer. Any other error says nothing, and the step is repeated.
	if err != nil && provider.KindOf(err) != provider.Permanent && provider.KindOf(err) != provider.Gone {
		return s.retry(ctx, err)
	}
	if err == nil && o.Phase == provider.PhaseAbsent {
		return s.unknown(ctx)
	}
	// A server may say any ref. Only the tag, which the provider keeps, proves that it is of this deployment.
	if err != nil || !o.Exists() || o.Ref != s.d.ClaimedRef || o.Tag != s.d.Tag {
		return s.unconfirmed(ctx)
	}
	return s.confirmed(ctx, o)
}

// unknown asks about a ref once more that the provider does not know: the server may be as young as its name.
func (s *step) unknown(ctx context.Context) error {
	s.d.MissingSince = orTime(s.d.MissingSince, s.now())
	// Due exactly when the time for turning up is over.
	if mayTurnUp(&s.d, s.now()) {
		return s.conclude(ctx, verdict{next: pausedUntil(*s.d.MissingSince, absentFor)})
	}
	return s.unconfirmed(ctx)
}

func (s *step) confirmed(ctx context.Context, o provider.Observation) error {
	adopted, err := s.provisioner.store.AdoptClaimedRef(ctx, &s.d)
	if err != nil {
		return err
	}
	// Another server was adopted meanwhile, or the deployment is to end: due at once, and planned anew.
	if !adopted || isOver(&s.d) {
		return s.conclude(ctx, verdict{next: pausedUntil(s.now(), 0)})
	}
	// From here as after Deploy, with the observation that was just made.
	s.d.Phase, s.d.Polls = provision.DeploymentStarting, 0
	return s.observed(ctx, o)
}

// unconfirmed forgets a ref that the provider does not know as this deployment's. What Deploy has started is then
// looked for as without it.
func (s *step) unconfirmed(ctx context.Context) error {
	s.provisioner.log.LogAttrs(ctx, slog.LevelWarn, "the provider does not confirm the provider_ref of a server",
		slog.String("deployment", s.d.ID.String()),
		slog.String("region", s.d.Region), slog.String("ref", string(s.d.ClaimedRef)))
	s.d.LastError = "the provider does not confirm the provider_ref with which the server has registered"
	if err := s.provisioner.store.DropClaimedRef(ctx, &s.d); err != nil {
		return err
	}
	return s.conclude(ctx, verdict{next: pausedUntil(s.now(), 0)})
}
