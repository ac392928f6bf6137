package worker

import (
	"context"
	"log/slog"

	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/provider"
)

// confirmRef asks the provider about the ref with which the server of a deployment has registered, while no answer of
// Deploy has said one. The deployment adopts it if the provider knows it under the deployment's tag.
func (s *step) confirmRef(ctx context.Context) error {
	var o provider.Observation
	err := s.callProvider(ctx, opGet, func(ctx context.Context) (err error) {
		o, err = s.provider.Get(ctx, s.deployment.ClaimedRef)
		return err
	})
	// An answer that the ref is wrong is an answer. Any other error says nothing, and the step is repeated.
	if err != nil && provider.KindOf(err) != provider.Permanent && provider.KindOf(err) != provider.Gone {
		return s.retryLater(ctx, err)
	}
	if err == nil && o.Phase == provider.PhaseAbsent {
		return s.recheckOrDrop(ctx)
	}
	// A server may say any ref. Only the tag, which the provider keeps, proves that it is of this deployment.
	if err != nil || !o.Exists() || o.Ref != s.deployment.ClaimedRef || o.Tag != s.deployment.Tag {
		return s.dropUnconfirmed(ctx)
	}
	return s.adoptConfirmed(ctx, o)
}

// recheckOrDrop lets the step run again for a ref that the provider does not know, and drops the ref once absentFor is
// over: a young server may be known late.
func (s *step) recheckOrDrop(ctx context.Context) error {
	s.deployment.MissingSince = orTime(s.deployment.MissingSince, s.dbNow())
	// Due exactly when absentFor is over.
	if mayTurnUp(&s.deployment, s.dbNow()) {
		return s.conclude(ctx, verdict{nextDue: pausedUntil(*s.deployment.MissingSince, absentFor)})
	}
	return s.dropUnconfirmed(ctx)
}

func (s *step) adoptConfirmed(ctx context.Context, o provider.Observation) error {
	adopted, err := s.provisioner.store.AdoptClaimedRef(ctx, &s.deployment)
	if err != nil {
		return err
	}
	// Another server was adopted meanwhile, or the deployment is to end: due at once, and planned anew.
	if !adopted || isOver(&s.deployment) {
		return s.conclude(ctx, verdict{nextDue: pausedUntil(s.dbNow(), 0)})
	}
	// From here as after Deploy, with the observation that was just made.
	s.deployment.Phase, s.deployment.PollCount = provision.DeploymentStarting, 0
	return s.noteObserved(ctx, o)
}

// dropUnconfirmed forgets a ref that the provider does not know as this deployment's. What Deploy has started is then
// looked for as without it.
func (s *step) dropUnconfirmed(ctx context.Context) error {
	s.provisioner.log.LogAttrs(ctx, slog.LevelWarn, "the provider does not confirm the provider_ref of a server",
		slog.String("deployment", s.deployment.ID.String()),
		slog.String("region", s.deployment.Region), slog.String("ref", string(s.deployment.ClaimedRef)))
	s.deployment.LastError = "the provider does not confirm the provider_ref with which the server has registered"
	if err := s.provisioner.store.DropClaimedRef(ctx, &s.deployment); err != nil {
		return err
	}
	return s.conclude(ctx, verdict{nextDue: pausedUntil(s.dbNow(), 0)})
}
