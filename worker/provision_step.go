package worker

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
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
	started      time.Time
}

// dbNow returns the database's time.
func (s *step) dbNow() time.Time { return s.deployment.ClaimedAt.Add(time.Since(s.started)) }

// run makes the step. Its calls end before the claim does, so that a process that was frozen makes no call after
// another worker has claimed the deployment.
func (s *step) run(ctx context.Context, op operation) error {
	// Two of the three timeouts of the claim, counted from before the claim was made.
	ctx, cancel := context.WithDeadline(ctx, s.started.Add(2*s.provisioner.opt.Timeout))
	defer cancel()
	switch op {
	case opDeploy:
		return s.deployServer(ctx)
	case opFind:
		return s.findServers(ctx)
	case opGet:
		return s.get(ctx)
	case opStop:
		return s.stopServer(ctx)
	case opConfirm:
		return s.confirmRef(ctx)
	default:
		return s.decideWithoutCall(ctx)
	}
}

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

func (s *step) get(ctx context.Context) error {
	var o provider.Observation
	err := s.callProvider(ctx, opGet, func(ctx context.Context) (err error) {
		o, err = s.provider.Get(ctx, s.deployment.Ref)
		return err
	})
	if err != nil {
		return s.retryLater(ctx, err)
	}
	return s.noteObserved(ctx, o)
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
	// False: another decision was made since the claim. Then neither the log nor the version's count may tell of this
	// one.
	decided, err := s.provisioner.store.DecideDeployment(ctx, &s.deployment, r.nextDue)
	// In decisions that only repeat Stop, Polls is above 0.
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
	reason := orReason(s.deployment.Reason, r.goneBecause)
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

func (s *step) stopServer(ctx context.Context) error {
	err := s.callProvider(ctx, opStop, func(ctx context.Context) error {
		return s.provider.Stop(ctx, s.deployment.Ref,
			s.appVersion.Grace)
	})
	if err != nil && provider.KindOf(err) == provider.Gone {
		return s.noteObserved(ctx, provider.Observation{Ref: s.deployment.Ref, Phase: provider.PhaseAbsent})
	}
	if err != nil {
		return s.retryLater(ctx, err)
	}
	r := verdict{nextDue: pausedUntil(s.dbNow(), pollPause(0)),
		// The first Stop of a server that failed without a verdict: its endpoint was unknown, or it restarted too
		// often.
		blamesVersion: s.deployment.StopAt == nil && (s.deployment.Reason == provision.ReasonNoEndpoint ||
			s.deployment.Reason == provision.ReasonTooManyBoots)}
	s.deployment.MustStop, s.deployment.Phase, s.deployment.PollCount = true, provision.DeploymentStopping, 0
	return s.conclude(ctx, r)
}

// decideWithoutCall makes the steps that call no provider.
func (s *step) decideWithoutCall(ctx context.Context) error {
	now := s.dbNow()
	switch {
	// Nothing was started, or its provider ends it and can be told nothing: the row may go.
	case isOver(&s.deployment) && (s.deployment.Ref != "" || s.deployment.IntentAt == nil || s.intentIsOld(now)):
		return s.endDeployment(ctx, verdict{goneBecause: "no server was started"})
	// Until the intent is old, the server of the last Deploy may still appear.
	case isOver(&s.deployment):
		return s.conclude(ctx, verdict{nextDue: pausedUntil(now, pollPause(s.deployment.PollCount))})
	case isDue(s.deployment.EndsAt, now.Add(s.appVersion.Grace)):
		// The decision first. The next step, which is due at once, calls the provider.
		s.deployment.MustStop, s.deployment.Reason = true, orReason(s.deployment.Reason, "its lifetime is over")
		return s.conclude(ctx, verdict{nextDue: &now})
	case s.deployment.Phase == provision.DeploymentReady:
		s.deployment.Phase = provision.DeploymentDraining
		return s.conclude(ctx, verdict{nextDue: &now})
	case s.deployment.OpenSessions == 0:
		// It need not live until its end: nobody is on it, and it gets no more players.
		s.deployment.MustStop, s.deployment.Reason = true, orReason(s.deployment.Reason,
			"drained before the end of its lifetime")
		return s.conclude(ctx, verdict{nextDue: &now})
	default:
		return s.conclude(ctx, verdict{nextDue: nextScheduled(&s.deployment, s.appVersion.Grace)})
	}
}

// intentIsOld reports whether a server that the last Deploy has started would be found by now.
func (s *step) intentIsOld(now time.Time) bool {
	return s.deployment.IntentAt == nil || now.After(s.deployment.IntentAt.Add(s.provisioner.opt.Timeout+findGrace))
}

// findServers looks for the servers under the deployment's tag: it adopts one if the deployment has none, and stops all
// others.
func (s *step) findServers(ctx context.Context) error {
	var found []provider.Observation
	err := s.callProvider(ctx, opFind, func(ctx context.Context) (err error) {
		found, err = s.provider.Find(ctx, s.provisioner.opt.Owner, s.deployment.Tag)
		return err
	})
	if err != nil {
		return s.retryLater(ctx, err)
	}
	// Those that have ended are listed by some providers for a while.
	found = slices.DeleteFunc(found, func(o provider.Observation) bool { return o.Ref == "" || !o.Exists() })
	if isDue(s.deployment.FindAt, s.deployment.ClaimedAt) {
		s.deployment.FindAt = s.nextFind()
	}
	if s.deployment.Ref == "" && len(found) == 0 {
		return s.foundNothing(ctx)
	}
	if s.deployment.Ref == "" {
		if err := s.adoptServer(ctx, found); err != nil {
			return err
		}
	}
	if err := s.stopOthers(ctx, found); err != nil {
		return s.retryLater(ctx, err)
	}
	return s.conclude(ctx, verdict{nextDue: pausedUntil(s.dbNow(), 0)})
}

// nextFind returns when to look again for a second server.
func (s *step) nextFind() *time.Time {
	if s.deployment.IntentAt == nil || !s.dbNow().Before(s.deployment.IntentAt.Add(lastFind)) {
		return nil
	}
	t := s.deployment.IntentAt.Add(lastFind)
	return &t
}

// foundNothing waits until the provider must have listed what the last Deploy has started, and then decides that it has
// started nothing. Where a tag names one server, Deploy may be repeated before that.
func (s *step) foundNothing(ctx context.Context) error {
	now := s.dbNow()
	switch {
	case s.capabilities.NativeNames && !isOver(&s.deployment):
		s.deployment.Phase = provision.DeploymentWanted
		return s.conclude(ctx, verdict{nextDue: pausedUntil(now, pollPause(s.deployment.DeployAttempts-1))})
	case !s.intentIsOld(now):
		s.deployment.MissingSince = orTime(s.deployment.MissingSince, now)
		s.deployment.PollCount++
		return s.conclude(ctx, verdict{nextDue: pausedUntil(now, pollPause(s.deployment.PollCount))})
	// A second server may still appear: the end comes behind the last search.
	case isOver(&s.deployment) && s.deployment.FindAt != nil:
		return s.conclude(ctx, verdict{nextDue: s.deployment.FindAt})
	case isOver(&s.deployment):
		return s.endDeployment(ctx, verdict{goneBecause: "no server was started"})
	default:
		// IntentAt stays: the next intent knows that an earlier one may have started a server
		s.deployment.Phase = provision.DeploymentWanted
		return s.conclude(ctx, verdict{nextDue: &now})
	}
}

// adoptServer gives the deployment one of the servers found: one that runs, and the oldest of several.
func (s *step) adoptServer(ctx context.Context, found []provider.Observation) error {
	slices.SortFunc(found, func(a, b provider.Observation) int {
		// Better phases first; then the oldest; then by ref, so that two workers would choose the same one.
		if a, b := rankObservation(a), rankObservation(b); a != b {
			return a - b
		}
		if c := a.Started.Compare(b.Started); c != 0 {
			return c
		}
		return strings.Compare(string(a.Ref), string(b.Ref))
	})
	own, err := s.provisioner.store.NoteRef(ctx, &s.deployment, found[0].Ref)
	if err != nil {
		return err
	}
	// A deployment that is to end keeps its phase: only the ref was missing.
	if own == found[0].Ref && s.deployment.Phase == provision.DeploymentDeploying {
		s.deployment.Phase, s.deployment.PollCount = provision.DeploymentStarting, 0
	}
	return nil
}

func rankObservation(o provider.Observation) int {
	return slices.Index([]provider.Phase{
		provider.PhaseReady, provider.PhaseStarting, provider.PhasePending, provider.PhaseUnknown, provider.PhaseFailed,
		provider.PhaseStopping,
	}, o.Phase)
}

// stopOthers stops the servers found that are not the deployment's own.
func (s *step) stopOthers(ctx context.Context, found []provider.Observation) error {
	for _, o := range found {
		if o.Ref == s.deployment.Ref || o.Phase == provider.PhaseStopping {
			continue
		}
		if err := s.stopExtra(ctx, o.Ref); err != nil {
			return err
		}
	}
	return nil
}

// stopExtra stops a server that no deployment has.
func (s *step) stopExtra(ctx context.Context, ref provider.Ref) error {
	s.provisioner.log.LogAttrs(ctx, slog.LevelWarn, "stopping a second server of a deployment",
		slog.String("deployment", s.deployment.ID.String()), slog.String("ref", string(ref)))
	err := s.callProvider(ctx, opStop, func(ctx context.Context) error {
		return s.provider.Stop(ctx, ref,
			s.appVersion.Grace)
	})
	if err != nil && provider.KindOf(err) == provider.Gone {
		return nil
	}
	return err
}
