package worker

import (
	"context"
	"errors"
	"time"

	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/provider"
)

// pausedPoll bounds how long a deployment waits for a paused version: an operator may resume it earlier.
const pausedPoll = 15 * time.Second

// deployServer commits the intent, and starts a server.
func (s *step) deployServer(ctx context.Context) error {
	now := s.dbNow()
	// The version is paused after failures. The deployment keeps its place among those of the pool, and waits.
	if until := s.deployment.PausedUntil; until.After(now) {
		return s.conclude(ctx, verdict{nextDue: earliestTime(&until, pausedUntil(now, pausedPoll))})
	}
	if s.deployment.Phase == provision.DeploymentDeploying && !s.capabilities.NativeNames && !s.intentIsOld(now) {
		// the provider cannot list what the last Deploy may have started
		s.deployment.MissingSince = orTime(s.deployment.MissingSince, now)
		return s.conclude(ctx, verdict{nextDue: pausedUntil(now, pollPause(s.deployment.PollCount))})
	}
	lifetime, drainAhead := s.serverLifetime()
	earlierIntent := s.deployment.IntentAt
	// Committed before the call, so that the next step of any worker knows that a server may exist under the tag.
	intended, err := s.provisioner.store.PutIntent(ctx, &s.deployment, lifetime, drainAhead)
	if err != nil || !intended {
		return err // the claim ends by itself; the decision that came before has made it due
	}
	spec, err := s.serverSpec(lifetime)
	if err != nil {
		// Nothing was called since PutIntent, so that nothing has to be looked for.
		s.deployment.IntentAt = earlierIntent
		return s.conclude(ctx, failBlaming(&s.deployment, s.dbNow(), "its environment could not be made", err.Error()))
	}
	var o provider.Observation
	err = s.callProvider(ctx, opDeploy, func(ctx context.Context) (err error) {
		o, err = s.provider.Deploy(ctx, spec)
		return err
	})
	if err != nil {
		return s.deployFailed(ctx, err, earlierIntent)
	}
	return s.noteDeployed(ctx, o)
}

// serverLifetime returns how long a server lives, and how long before its end it drains. Where the provider allows less
// than the app version, it drains for a quarter of its life at most: one that drains as soon as it is ready would be
// replaced for ever.
func (s *step) serverLifetime() (lifetime, drainAhead time.Duration) {
	if limit := s.capabilities.MaxLifetime; limit > 0 && limit < s.appVersion.MaxLifetime {
		return limit, min(s.appVersion.DrainAhead, limit/4)
	}
	return s.appVersion.MaxLifetime, s.appVersion.DrainAhead
}

func (s *step) serverSpec(lifetime time.Duration) (provider.Spec, error) {
	v := s.appVersion.ForProvider(s.deployment.Provider)
	env, webhook, err := s.provisioner.opt.Environment(s.deployment.Deployment, v)
	if err != nil {
		return provider.Spec{}, err
	}
	spec := provider.Spec{
		Tag: s.deployment.Tag, Owner: s.provisioner.opt.Owner, App: v.Launch, Version: v.LaunchVersion, Env: env,
		Webhook: webhook, Lifetime: lifetime,
		Hint:      provider.Hint{Addr: s.deployment.Address, Coords: s.deployment.PoolCoords},
		Resources: provider.Resources{CPUUnits: s.appVersion.CPUUnits, MemoryMiB: s.appVersion.MemoryMiB},
	}
	for _, p := range s.appVersion.Ports {
		spec.Ports = append(spec.Ports, provider.Port{Name: p.Name, Internal: p.Internal, Protocol: p.Protocol})
	}
	return spec, nil
}

// noteDeployed stores the ref of a server that was started. If the deployment is gone meanwhile, or has another server,
// this one is stopped.
func (s *step) noteDeployed(ctx context.Context, o provider.Observation) error {
	own, err := s.provisioner.store.NoteRef(ctx, &s.deployment, o.Ref)
	if err != nil {
		return err
	}
	// The deployment has another server already: this one is nobody's.
	if own != o.Ref {
		return s.stopExtra(ctx, o.Ref)
	}
	if !s.capabilities.List && o.IP.IsValid() {
		// Get may say less than Deploy did where the provider cannot list. That the server is ready is left to the next
		// step, as below.
		facts := o
		facts.Phase = provider.PhaseStarting
		if err := s.provisioner.store.NoteObservation(ctx, &s.deployment, facts, s.appVersion.DrainAhead); err != nil {
			return err
		}
	}
	// The provider has room again: its next refusal pauses the pool only shortly.
	if err := s.provisioner.store.ForgiveRefusals(ctx, &s.deployment.Deployment); err != nil {
		return err
	}
	s.deployment.Phase, s.deployment.PollCount = provision.DeploymentStarting, 0
	if o.Phase != provider.PhaseReady {
		// FindAt is set where an earlier Deploy may have started a second server.
		return s.conclude(ctx, verdict{nextDue: earliestTime(pausedUntil(s.dbNow(), pollPause(0)),
			s.deployment.FindAt)})
	}
	now := s.dbNow()
	return s.conclude(ctx, verdict{nextDue: &now}) // the next step sees it ready, in a phase that others may change
}

// deployFailed decides after an error of Deploy. earlierIntent is the intent before this one: nil means that no earlier
// call may have started a server.
func (s *step) deployFailed(ctx context.Context, cause error, earlierIntent *time.Time) error {
	// The call was cut off by the end of this worker: whether it started a server is unknown.
	if s.provisioner.workerLife.Err() != nil {
		return s.handBack(ctx) // the next worker looks for the server
	}
	s.deployment.LastError = cause.Error()
	switch provider.KindOf(cause) {
	case provider.Ambiguous, provider.Gone: // Deploy never answers Gone
		// As ambiguous, IntentAt stays and the phase is deploying: the next step searches by the tag.
		_, err := s.provisioner.store.DecideDeployment(ctx, &s.deployment, pausedUntil(s.dbNow(), pollPause(0)))
		return err
	case provider.Permanent:
		// Refused: this call has started nothing, so that only an earlier one counts.
		s.deployment.IntentAt = earlierIntent
		if err := s.conclude(ctx, failDeployment(&s.deployment, s.dbNow(), "the provider refused it",
			s.deployment.LastError)); err != nil {
			return err
		}
		return s.failVersion(ctx, s.deployment.LastError, 0)
	case provider.Capacity:
		return s.withoutCapacity(ctx, cause, earlierIntent)
	default:
		s.deployment.Phase, s.deployment.IntentAt = provision.DeploymentWanted, earlierIntent
		s.deployment.PollCount = s.deployment.DeployAttempts // attempts without progress: the pause grows with them
		return s.retryLater(ctx, cause)
	}
}

// withoutCapacity lets the pool wait. A server that exists in error is stopped.
func (s *step) withoutCapacity(ctx context.Context, cause error, earlierIntent *time.Time) error {
	// Only if nothing of the deployment can be at the first provider.
	if s.fallsBack(cause, earlierIntent) {
		return s.fallBack(ctx)
	}
	// The pool starts no further servers for a while, whatever becomes of this one.
	if err := s.provisioner.store.PauseWithoutCapacity(ctx, &s.deployment.Deployment,
		s.deployment.LastError); err != nil {
		return err
	}
	// Some providers refuse and leave a server in an error state, which has to be stopped like one that runs.
	if refused, ok := errors.AsType[*provider.Error](cause); ok && refused.Ref != "" {
		own, err := s.provisioner.store.NoteRef(ctx, &s.deployment, refused.Ref)
		if err != nil {
			return err
		}
		if own != refused.Ref {
			return s.stopExtra(ctx, refused.Ref)
		}
		return s.conclude(ctx, failDeployment(&s.deployment, s.dbNow(), "the provider has no capacity",
			s.deployment.LastError))
	}
	s.deployment.Phase, s.deployment.IntentAt = provision.DeploymentWanted, earlierIntent
	s.deployment.PollCount = s.deployment.DeployAttempts
	return s.retryLater(ctx, cause)
}
