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
	d            provision.ClaimedDeployment
	v            *provision.AppVersion
	started      time.Time
}

// now returns the database's time.
func (s *step) now() time.Time { return s.d.Now.Add(time.Since(s.started)) }

// run makes the step. Its calls end before the claim does, so that a process that was frozen makes no call after
// another worker has claimed the deployment.
func (s *step) run(ctx context.Context, op operation) error {
	// Two of the three timeouts of the claim, counted from before the claim was made.
	ctx, cancel := context.WithDeadline(ctx, s.started.Add(2*s.provisioner.opt.Timeout))
	defer cancel()
	switch op {
	case opDeploy:
		return s.deploy(ctx)
	case opFind:
		return s.find(ctx)
	case opGet:
		return s.get(ctx)
	case opStop:
		return s.stop(ctx)
	case opConfirm:
		return s.confirm(ctx)
	default:
		return s.decide(ctx)
	}
}

// call makes one call of the provider and counts it.
func (s *step) call(ctx context.Context, op operation, fn func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, s.provisioner.opt.Timeout)
	defer cancel()
	start := time.Now()
	err := fn(ctx)
	s.provisioner.metrics.call(s.d.Provider, op, err, time.Since(start))
	// The pause is stored for all workers: otherwise each of them would ask and be refused.
	if limited, ok := errors.AsType[*provider.Error](err); ok && limited.Kind == provider.RateLimited {
		if blocked := s.provisioner.store.BlockBudget(ctx, s.d.Provider, op.class(),
			limited.RetryAfter); blocked != nil {
			s.provisioner.log.LogAttrs(ctx, slog.LevelWarn, "a pause that a provider asked for could not be stored",
				slog.Any("error", blocked))
		}
	}
	return err
}

func (s *step) get(ctx context.Context) error {
	var o provider.Observation
	err := s.call(ctx, opGet, func(ctx context.Context) (err error) {
		o, err = s.provider.Get(ctx, s.d.Ref)
		return err
	})
	if err != nil {
		return s.retry(ctx, err)
	}
	return s.observed(ctx, o)
}

// observed stores the facts of an observation, and then decides.
func (s *step) observed(ctx context.Context, o provider.Observation) error {
	// Resolved before the facts are stored: these have an address, and no name.
	if o.Phase == provider.PhaseReady && !o.IP.IsValid() && o.FQDN != "" {
		o.IP = s.provisioner.resolve(ctx, o.FQDN)
	}
	if o.Exists() {
		if err := s.provisioner.store.NoteObservation(ctx, &s.d, o, s.v.DrainAhead); err != nil {
			return err
		}
	}
	if s.d.Phase == provision.DeploymentStarting && o.Phase == provider.PhaseReady && !isOver(&s.d) {
		// A server that registers meanwhile finds provider_ready_at, so that one of the two makes it ready.
		ready, err := s.provisioner.store.MakeReady(ctx, s.d.Region, s.d.ID)
		if err != nil {
			return err
		}
		// The deployment has a new generation, so that no decision of this claim would be written.
		if ready {
			return s.release(ctx)
		}
	}
	return s.conclude(ctx, judge(&s.d, s.v, o, s.now(), s.provisioner.store.Timing().LeaseTTL))
}

// handBack makes the deployment due for another worker, because this one ends.
func (s *step) handBack(ctx context.Context) error {
	return s.provisioner.putBack(ctx, []provision.ClaimedDeployment{s.d}, s.now())
}

// release ends the claim without a decision.
func (s *step) release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	return s.provisioner.store.ReleaseDeployment(ctx, &s.d)
}

func (s *step) conclude(ctx context.Context, r verdict) error {
	if r.isGone {
		return s.end(ctx, r)
	}
	// False: another decision was made since the claim. Then neither the log nor the version's count may tell of this
	// one.
	decided, err := s.provisioner.store.DecideDeployment(ctx, &s.d, r.next)
	// In decisions that only repeat Stop, Polls is above 0.
	if decided && s.d.Phase == provision.DeploymentFailed && s.d.Polls == 0 {
		s.provisioner.log.LogAttrs(ctx, slog.LevelWarn, "deployment failed", slog.String("deployment", s.d.ID.String()),
			slog.String("region", s.d.Region),
			slog.String("app", s.v.Name()), slog.String("reason", s.d.Reason), slog.String("error", s.d.LastError))
	}
	if decided && r.blames {
		return s.blame(ctx, s.d.Reason)
	}
	return err
}

func (s *step) end(ctx context.Context, r verdict) error {
	reason := orReason(s.d.Reason, r.reason)
	ended, err := s.provisioner.store.EndDeployment(ctx, &s.d, reason)
	if ended {
		s.provisioner.log.LogAttrs(ctx, slog.LevelInfo, "deployment ended", slog.String("deployment", s.d.ID.String()),
			slog.String("region", s.d.Region),
			slog.String("reason", reason))
	}
	if ended && r.blames {
		return s.blame(ctx, reason)
	}
	return err
}

// retry makes the deployment due again after an error that has changed nothing.
func (s *step) retry(ctx context.Context, cause error) error {
	// The context was cancelled, and with it the call.
	if s.provisioner.life.Err() != nil {
		return s.handBack(ctx) // the error says nothing about the provider
	}
	s.d.LastError = cause.Error()
	pause := retryPause(s.d.Polls)
	// Added, so that deployments that were refused together do not all come back when the provider's pause ends.
	if limited, ok := errors.AsType[*provider.Error](cause); ok && limited.Kind == provider.RateLimited {
		pause += limited.RetryAfter
	}
	s.d.Polls++
	_, err := s.provisioner.store.DecideDeployment(ctx, &s.d, pausedUntil(s.now(), pause))
	return err
}

func (s *step) stop(ctx context.Context) error {
	err := s.call(ctx, opStop, func(ctx context.Context) error { return s.provider.Stop(ctx, s.d.Ref, s.v.Grace) })
	if err != nil && provider.KindOf(err) == provider.Gone {
		return s.observed(ctx, provider.Observation{Ref: s.d.Ref, Phase: provider.PhaseAbsent})
	}
	if err != nil {
		return s.retry(ctx, err)
	}
	r := verdict{next: pausedUntil(s.now(), pollPause(0)),
		// The first Stop of a server that failed without a verdict: its endpoint was unknown, or it restarted too
		// often.
		blames: s.d.StopAt == nil && (s.d.Reason == provision.ReasonNoEndpoint ||
			s.d.Reason == provision.ReasonTooManyBoots)}
	s.d.Stop, s.d.Phase, s.d.Polls = true, provision.DeploymentStopping, 0
	return s.conclude(ctx, r)
}

// decide makes the steps that call no provider.
func (s *step) decide(ctx context.Context) error {
	now := s.now()
	switch {
	// Nothing was started, or its provider ends it and can be told nothing: the row may go.
	case isOver(&s.d) && (s.d.Ref != "" || s.d.IntentAt == nil || s.intentIsOld(now)):
		return s.end(ctx, verdict{reason: "no server was started"})
	// Until the intent is old, the server of the last Deploy may still appear.
	case isOver(&s.d):
		return s.conclude(ctx, verdict{next: pausedUntil(now, pollPause(s.d.Polls))})
	case isDue(s.d.EndsAt, now.Add(s.v.Grace)):
		// The decision first. The next step, which is due at once, calls the provider.
		s.d.Stop, s.d.Reason = true, orReason(s.d.Reason, "its lifetime is over")
		return s.conclude(ctx, verdict{next: &now})
	case s.d.Phase == provision.DeploymentReady:
		s.d.Phase = provision.DeploymentDraining
		return s.conclude(ctx, verdict{next: &now})
	case s.d.OpenSessions == 0:
		// It need not live until its end: nobody is on it, and it gets no more players.
		s.d.Stop, s.d.Reason = true, orReason(s.d.Reason, "drained before the end of its lifetime")
		return s.conclude(ctx, verdict{next: &now})
	default:
		return s.conclude(ctx, verdict{next: schedule(&s.d, s.v.Grace)})
	}
}

// intentIsOld reports whether a server that the last Deploy has started would be found by now.
func (s *step) intentIsOld(now time.Time) bool {
	return s.d.IntentAt == nil || now.After(s.d.IntentAt.Add(s.provisioner.opt.Timeout+findGrace))
}

// find looks for the servers under the deployment's tag: it adopts one if the deployment has none, and stops all
// others.
func (s *step) find(ctx context.Context) error {
	var found []provider.Observation
	err := s.call(ctx, opFind, func(ctx context.Context) (err error) {
		found, err = s.provider.Find(ctx, s.provisioner.opt.Owner, s.d.Tag)
		return err
	})
	if err != nil {
		return s.retry(ctx, err)
	}
	// Those that have ended are listed by some providers for a while.
	found = slices.DeleteFunc(found, func(o provider.Observation) bool { return o.Ref == "" || !o.Exists() })
	if isDue(s.d.FindAt, s.d.Now) {
		s.d.FindAt = s.nextFind()
	}
	if s.d.Ref == "" && len(found) == 0 {
		return s.foundNothing(ctx)
	}
	if s.d.Ref == "" {
		if err := s.adopt(ctx, found); err != nil {
			return err
		}
	}
	if err := s.stopOthers(ctx, found); err != nil {
		return s.retry(ctx, err)
	}
	return s.conclude(ctx, verdict{next: pausedUntil(s.now(), 0)})
}

// nextFind returns when to look again for a second server.
func (s *step) nextFind() *time.Time {
	if s.d.IntentAt == nil || !s.now().Before(s.d.IntentAt.Add(lastFind)) {
		return nil
	}
	t := s.d.IntentAt.Add(lastFind)
	return &t
}

// foundNothing waits until the provider must have listed what the last Deploy has started, and then decides that it has
// started nothing. Where a tag names one server, Deploy may be repeated before that.
func (s *step) foundNothing(ctx context.Context) error {
	now := s.now()
	switch {
	case s.capabilities.NativeNames && !isOver(&s.d):
		s.d.Phase = provision.DeploymentWanted
		return s.conclude(ctx, verdict{next: pausedUntil(now, pollPause(s.d.Attempt-1))})
	case !s.intentIsOld(now):
		s.d.MissingSince = orTime(s.d.MissingSince, now)
		s.d.Polls++
		return s.conclude(ctx, verdict{next: pausedUntil(now, pollPause(s.d.Polls))})
	// A second server may still appear: the end comes behind the last search.
	case isOver(&s.d) && s.d.FindAt != nil:
		return s.conclude(ctx, verdict{next: s.d.FindAt})
	case isOver(&s.d):
		return s.end(ctx, verdict{reason: "no server was started"})
	default:
		// IntentAt stays: the next intent knows that an earlier one may have started a server
		s.d.Phase = provision.DeploymentWanted
		return s.conclude(ctx, verdict{next: &now})
	}
}

// adopt gives the deployment one of the servers found: one that runs, and the oldest of several.
func (s *step) adopt(ctx context.Context, found []provider.Observation) error {
	slices.SortFunc(found, func(a, b provider.Observation) int {
		// Better phases first; then the oldest; then by ref, so that two workers would choose the same one.
		if a, b := rank(a), rank(b); a != b {
			return a - b
		}
		if c := a.Started.Compare(b.Started); c != 0 {
			return c
		}
		return strings.Compare(string(a.Ref), string(b.Ref))
	})
	own, err := s.provisioner.store.NoteRef(ctx, &s.d, found[0].Ref)
	if err != nil {
		return err
	}
	// A deployment that is to end keeps its phase: only the ref was missing.
	if own == found[0].Ref && s.d.Phase == provision.DeploymentDeploying {
		s.d.Phase, s.d.Polls = provision.DeploymentStarting, 0
	}
	return nil
}

func rank(o provider.Observation) int {
	return slices.Index([]provider.Phase{
		provider.PhaseReady, provider.PhaseStarting, provider.PhasePending, provider.PhaseUnknown, provider.PhaseFailed,
		provider.PhaseStopping,
	}, o.Phase)
}

// stopOthers stops the servers found that are not the deployment's own.
func (s *step) stopOthers(ctx context.Context, found []provider.Observation) error {
	for _, o := range found {
		if o.Ref == s.d.Ref || o.Phase == provider.PhaseStopping {
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
		slog.String("deployment", s.d.ID.String()), slog.String("ref", string(ref)))
	err := s.call(ctx, opStop, func(ctx context.Context) error { return s.provider.Stop(ctx, ref, s.v.Grace) })
	if err != nil && provider.KindOf(err) == provider.Gone {
		return nil
	}
	return err
}
