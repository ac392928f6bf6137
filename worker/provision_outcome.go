package worker

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/provider"
)

// step is one step of one deployment: a call of its provider, and what follows from the answer.
type step struct {
	provisioner  *provisioner
	provider     provider.Provider
	capabilities provider.Capabilities
	deployment   provision.ClaimedDeployment
	appVersion   *provision.AppVersion
	started      time.Time // when the claim was requested, by this machine's clock
}

// dbNow returns the database's time. It is the time of the claim and this machine's time since the claim was requested,
// and so ahead by one answer at most.
func (s *step) dbNow() time.Time { return s.deployment.ClaimedAt.Add(time.Since(s.started)) }

// callProvider makes one call of the provider and counts it.
func (s *step) callProvider(ctx context.Context, op operation, fn func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.provisioner.opt.Timeout)
	defer cancel()
	start := time.Now()
	err := fn(ctx)
	s.provisioner.metrics.observeCall(s.deployment.Provider, op, err, time.Since(start))
	// The pause is stored for all workers: otherwise each of them would ask and be refused.
	if limited, ok := errors.AsType[*provider.Error](err); ok && limited.Kind == provider.RateLimited {
		if blocked := s.provisioner.store.BlockBudget(ctx, s.deployment.Provider, op.callClass(),
			limited.RetryAfter); blocked != nil {
			s.provisioner.log.LogAttrs(ctx, slog.LevelWarn, "a pause that a provider asked for could not be stored",
				slog.Any("error", blocked))
		}
	}
	return err
}

// noteObserved stores the facts of an observation, and then decides.
func (s *step) noteObserved(ctx context.Context, o provider.Observation) error {
	// Resolved before the facts are stored: these have an address, and no name.
	if o.Phase == provider.PhaseReady && !o.IP.IsValid() && o.FQDN != "" {
		o.IP = s.provisioner.resolveHost(ctx, o.FQDN)
	}
	if o.Exists() {
		if err := s.provisioner.store.NoteObservation(ctx, &s.deployment, o, s.appVersion.DrainAhead); err != nil {
			return err
		}
	}
	if s.deployment.Phase == provision.DeploymentStarting && o.Phase == provider.PhaseReady && !isOver(&s.deployment) {
		// A server that registers meanwhile finds provider_ready_at, so that one of the two makes it ready.
		ready, err := s.provisioner.store.MakeReady(ctx, s.deployment.Region, s.deployment.ID)
		if err != nil {
			return err
		}
		// The deployment has a new generation, so that no decision of this claim would be written.
		if ready {
			return s.releaseClaim(ctx)
		}
	}
	return s.conclude(ctx, judgeDeployment(&s.deployment, s.appVersion, o, s.dbNow(),
		s.provisioner.store.Timing().LeaseTTL))
}

// handBack makes the deployment due for another worker, because this one ends.
func (s *step) handBack(ctx context.Context) error {
	return s.provisioner.putBack(ctx, []provision.ClaimedDeployment{s.deployment}, s.dbNow())
}

// releaseClaim ends the claim without a decision.
func (s *step) releaseClaim(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	return s.provisioner.store.ReleaseDeployment(ctx, &s.deployment)
}

func (s *step) conclude(ctx context.Context, r verdict) error {
	if r.isGone {
		return s.endDeployment(ctx, r)
	}
	// If another decision was made since the claim, this one is void: it is neither logged nor counted for the version.
	decided, err := s.provisioner.store.DecideDeployment(ctx, &s.deployment, r.nextDue)
	// Logged once: in decisions that only repeat Stop, PollCount is above 0.
	if decided && s.deployment.Phase == provision.DeploymentFailed && s.deployment.PollCount == 0 {
		s.provisioner.log.LogAttrs(ctx, slog.LevelWarn, "deployment failed",
			slog.String("deployment", s.deployment.ID.String()),
			slog.String("region", s.deployment.Region),
			slog.String("app", s.appVersion.Name()), slog.String("reason", s.deployment.Reason),
			slog.String("error", s.deployment.LastError))
	}
	if decided && r.blamesVersion {
		return s.blameVersion(ctx, s.deployment.Reason)
	}
	return err
}

func (s *step) endDeployment(ctx context.Context, r verdict) error {
	reason := cmp.Or(s.deployment.Reason, r.goneBecause)
	ended, err := s.provisioner.store.EndDeployment(ctx, &s.deployment, reason)
	if ended {
		s.provisioner.log.LogAttrs(ctx, slog.LevelInfo, "deployment ended",
			slog.String("deployment", s.deployment.ID.String()),
			slog.String("region", s.deployment.Region),
			slog.String("reason", reason))
	}
	if ended && r.blamesVersion {
		return s.blameVersion(ctx, reason)
	}
	return err
}

// retryLater makes the deployment due again after an error that has changed nothing.
func (s *step) retryLater(ctx context.Context, cause error) error {
	// The context was cancelled, and with it the call.
	if s.provisioner.workerLife.Err() != nil {
		return s.handBack(ctx) // the error says nothing about the provider
	}
	s.deployment.LastError = cause.Error()
	pause := retryPause(s.deployment.PollCount)
	// Added, so that deployments that were refused together do not all come back when the provider's pause ends.
	if limited, ok := errors.AsType[*provider.Error](cause); ok && limited.Kind == provider.RateLimited {
		pause += limited.RetryAfter
	}
	s.deployment.PollCount++
	_, err := s.provisioner.store.DecideDeployment(ctx, &s.deployment, pausedUntil(s.dbNow(), pause))
	return err
}

// blameVersion counts a server that ended by itself as a failure of its version. A server that becomes ready ends the
// count of failures, so those that crashed afterwards are counted from their rows, and not while more of them are ready
// for as short a time: of many servers, a few crash.
func (s *step) blameVersion(ctx context.Context, reason string) error {
	if s.deployment.ReadyAt == nil {
		return s.failVersion(ctx, reason, 0)
	}
	// More young servers than crashed ones: the version works, and few of its servers crash.
	of, err := s.provisioner.store.CrashesOf(ctx, &s.deployment.Deployment, crashWindow)
	if err != nil || of.YoungServers > of.CrashedServers {
		return err
	}
	return s.failVersion(ctx, reason, of.CrashedServers)
}

// failVersion counts a failure that an operator has to repair, the number least or later in a row.
func (s *step) failVersion(ctx context.Context, reason string, least int) error {
	paused, err := s.provisioner.store.FailVersion(ctx, &s.deployment.Deployment, reason, least)
	if paused {
		s.provisioner.log.Warn("version paused in a region after three failures in a row",
			slog.String("app", s.appVersion.Name()), slog.String("region", s.deployment.Region),
			slog.String("reason", reason))
	}
	return err
}
