package worker

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/provider"
)

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
		return s.provider.Stop(ctx, ref, s.appVersion.Grace)
	})
	if err != nil && provider.KindOf(err) == provider.Gone {
		return nil
	}
	return err
}
