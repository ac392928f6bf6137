package worker

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/provider"
)

// pausedPoll bounds how long a deployment waits for a paused version: an operator may resume it earlier.
const pausedPoll = 15 * time.Second

// deploy commits the intent, and starts a server.
func (s *step) deploy(ctx context.Context) error {
	now := s.now()
	// The version is paused after failures. The deployment keeps its place among those of the pool, and waits.
	if until := s.d.PausedUntil; until.After(now) {
		return s.conclude(ctx, verdict{next: earliest(&until, pausedUntil(now, pausedPoll))})
	}
	if s.d.Phase == provision.DeploymentDeploying && !s.capabilities.NativeNames && !s.intentIsOld(now) {
		// the provider cannot list what the last Deploy may have started
		s.d.MissingSince = orTime(s.d.MissingSince, now)
		return s.conclude(ctx, verdict{next: pausedUntil(now, pollPause(s.d.Polls))})
	}
	lifetime, drainAhead := s.lifetime()
	before := s.d.IntentAt
	// Committed before the call: whoever finds this deployment later knows that a server may exist under its tag.
	intended, err := s.provisioner.store.PutIntent(ctx, &s.d, lifetime, drainAhead)
	if err != nil || !intended {
		return err // the claim ends by itself; the decision that came before has made it due
	}
	spec, err := s.spec(lifetime)
	if err != nil {
		// Nothing was called since PutIntent, so that nothing has to be looked for.
		s.d.IntentAt = before
		return s.conclude(ctx, failBlaming(&s.d, s.now(), "its environment could not be made", err.Error()))
	}
	var o provider.Observation
	err = s.call(ctx, opDeploy, func(ctx context.Context) (err error) {
		o, err = s.provider.Deploy(ctx, spec)
		return err
	})
	if err != nil {
		return s.deployFailed(ctx, err, before)
	}
	return s.deployed(ctx, o)
}

// lifetime returns how long a server lives, and how long before its end it drains. Where the provider allows less than
// the app version, it drains for a quarter of its life at most: one that drains as soon as it is ready would be
// replaced for ever.
func (s *step) lifetime() (lifetime, drainAhead time.Duration) {
	if limit := s.capabilities.MaxLifetime; limit > 0 && limit < s.v.MaxLifetime {
		return limit, min(s.v.DrainAhead, limit/4)
	}
	return s.v.MaxLifetime, s.v.DrainAhead
}

func (s *step) spec(lifetime time.Duration) (provider.Spec, error) {
	v := s.v.ForProvider(s.d.Provider)
	env, webhook, err := s.provisioner.opt.Environment(s.d.Deployment, v)
	if err != nil {
		return provider.Spec{}, err
	}
	spec := provider.Spec{
		Tag: s.d.Tag, Owner: s.provisioner.opt.Owner, App: v.Launch, Version: v.LaunchVersion, Env: env,
		Webhook: webhook, Lifetime: lifetime,
		Hint:      provider.Hint{Addr: s.d.Address, Coords: s.d.Coords},
		Resources: provider.Resources{CPUUnits: s.v.CPUUnits, MemoryMiB: s.v.MemoryMiB},
	}
	for _, p := range s.v.Ports {
		spec.Ports = append(spec.Ports, provider.Port{Name: p.Name, Internal: p.Internal, Protocol: p.Protocol})
	}
	return spec, nil
}

// deployed stores the ref of a server that was started. If the deployment is gone meanwhile, or has another server,
// this one is stopped.
func (s *step) deployed(ctx context.Context, o provider.Observation) error {
	own, err := s.provisioner.store.NoteRef(ctx, &s.d, o.Ref)
	if err != nil {
		return err
	}
	// The ref that is stored is not the one of this server: it is nobody's.
	if own != o.Ref {
		return s.stopExtra(ctx, o.Ref)
	}
	if !s.capabilities.List && o.IP.IsValid() {
		// Get may say less than Deploy did where the provider cannot list. That the server is ready is left to the next
		// step, as below.
		facts := o
		facts.Phase = provider.PhaseStarting
		if err := s.provisioner.store.NoteObservation(ctx, &s.d, facts, s.v.DrainAhead); err != nil {
			return err
		}
	}
	// The provider has room again: its next refusal pauses the pool only shortly.
	if err := s.provisioner.store.ForgiveRefusals(ctx, &s.d.Deployment); err != nil {
		return err
	}
	s.d.Phase, s.d.Polls = provision.DeploymentStarting, 0
	if o.Phase != provider.PhaseReady {
		// FindAt is set where an earlier Deploy may have started a second server.
		return s.conclude(ctx, verdict{next: earliest(pausedUntil(s.now(), pollPause(0)), s.d.FindAt)})
	}
	now := s.now()
	return s.conclude(ctx, verdict{next: &now}) // the next step sees it ready, in a phase that others may change
}

// deployFailed decides after an error of Deploy. before is the intent before this one: nil means that no earlier call
// may have started a server.
func (s *step) deployFailed(ctx context.Context, cause error, before *time.Time) error {
	// The call was cut off by the end of this worker: whether it started a server is unknown.
	if s.provisioner.life.Err() != nil {
		return s.handBack(ctx) // the next worker looks for the server
	}
	s.d.LastError = cause.Error()
	switch provider.KindOf(cause) {
	case provider.Ambiguous, provider.Gone: // Deploy never answers Gone
		// As ambiguous, IntentAt stays and the phase is deploying: the next step searches by the tag.
		_, err := s.provisioner.store.DecideDeployment(ctx, &s.d, pausedUntil(s.now(), pollPause(0)))
		return err
	case provider.Permanent:
		// Refused: this call has started nothing, so that only an earlier one counts.
		s.d.IntentAt = before
		if err := s.conclude(ctx, fail(&s.d, s.now(), "the provider refused it", s.d.LastError)); err != nil {
			return err
		}
		return s.failVersion(ctx, s.d.LastError, 0)
	case provider.Capacity:
		return s.withoutCapacity(ctx, cause, before)
	default:
		s.d.Phase, s.d.IntentAt = provision.DeploymentWanted, before
		s.d.Polls = s.d.Attempt // attempts without progress: the pause grows with them
		return s.retry(ctx, cause)
	}
}

// withoutCapacity lets the pool wait. A server that exists in error is stopped.
func (s *step) withoutCapacity(ctx context.Context, cause error, before *time.Time) error {
	// Only if nothing of the deployment can be at the first provider.
	if s.fallsBack(cause, before) {
		return s.fallBack(ctx)
	}
	// The pool starts no further servers for a while, whatever becomes of this one.
	if err := s.provisioner.store.PauseWithoutCapacity(ctx, &s.d.Deployment, s.d.LastError); err != nil {
		return err
	}
	// Some providers refuse and leave a server in an error state, which has to be stopped like one that runs.
	if refused, ok := errors.AsType[*provider.Error](cause); ok && refused.Ref != "" {
		own, err := s.provisioner.store.NoteRef(ctx, &s.d, refused.Ref)
		if err != nil {
			return err
		}
		if own != refused.Ref {
			return s.stopExtra(ctx, refused.Ref)
		}
		return s.conclude(ctx, fail(&s.d, s.now(), "the provider has no capacity", s.d.LastError))
	}
	s.d.Phase, s.d.IntentAt, s.d.Polls = provision.DeploymentWanted, before, s.d.Attempt
	return s.retry(ctx, cause)
}

// blame counts a server that ended by itself as a failure of its version. A server that becomes ready ends the count of
// failures, so those that crashed afterwards are counted from their rows, and not while more of them are ready for as
// short a time: of many servers, a few crash.
func (s *step) blame(ctx context.Context, reason string) error {
	if s.d.ReadyAt == nil {
		return s.failVersion(ctx, reason, 0)
	}
	// More young servers than crashed ones: the version works, and few of its servers crash.
	of, err := s.provisioner.store.CrashesOf(ctx, &s.d.Deployment, survives)
	if err != nil || of.Young > of.Crashed {
		return err
	}
	return s.failVersion(ctx, reason, of.Crashed)
}

// failVersion counts a failure that an operator has to repair, the number least or later in a row.
func (s *step) failVersion(ctx context.Context, reason string, least int) error {
	paused, err := s.provisioner.store.FailVersion(ctx, &s.d.Deployment, reason, least)
	if paused {
		s.provisioner.log.Warn("version paused in a region after three failures in a row",
			slog.String("app", s.v.Name()), slog.String("region", s.d.Region),
			slog.String("reason", reason))
	}
	return err
}
