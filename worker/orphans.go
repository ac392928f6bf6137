package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/lattice-director/director/internal/base/wait"
	"github.com/lattice-director/director/provider"
)

const (
	orphanAge     = 10 * time.Minute       // younger servers may belong to a step in progress
	maxOrphans    = 100                    // stopped in one sweep: a mistake must not end thousands at once
	orphanRetry   = 30 * time.Second       // after a list that failed or was not complete
	listPause     = 250 * time.Millisecond // until the budget is asked for another page
	orphansTicker = 5 * time.Second
)

// orphanSweeper looks for servers that run at a provider without a deployment, and stops them; and for deployments
// whose server a provider does not list.
type orphanSweeper struct {
	provisioner *provisioner

	mu        sync.Mutex
	firstSeen map[provider.Ref]time.Time // when servers whose start time the provider does not report were first seen
}

func (s *orphanSweeper) runOnce(ctx context.Context) (Done, error) {
	done := Done{}
	var failed []error
	for name, by := range s.provisioner.providers {
		if !by.Capabilities().List {
			continue
		}
		// Claimed in the database, so that one worker sweeps a provider; now is the database's time.
		now, due, err := s.provisioner.store.ClaimSweep(ctx, name, s.provisioner.opt.SweepEvery)
		if err == nil && due {
			err = s.sweepProvider(ctx, name, by, now, done)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("provider %s: %w", name, err))
			// Without this the next sweep would be due after SweepEvery.
			_ = s.provisioner.store.DelaySweep(ctx, name, min(orphanRetry, s.provisioner.opt.SweepEvery))
		}
	}
	return done, errors.Join(failed...)
}

// sweepProvider reads the complete list first and the deployments then: what is listed had its deployment before it was
// started.
func (s *orphanSweeper) sweepProvider(ctx context.Context, name string, by provider.Provider, now time.Time,
	done Done) error {
	if stored, err := s.provisioner.store.ClaimOwner(ctx, s.provisioner.opt.Owner); err != nil ||
		stored != s.provisioner.opt.Owner {
		return err // a restored copy of the database lacks the servers that were started since the backup
	}
	// Before the deployments are read: a server that starts in between is not in this list.
	listed, err := s.listServers(ctx, name, by)
	if err != nil {
		return err
	}
	tags, refs := make([]string, 0, len(listed)), make([]string, 0, len(listed))
	for _, o := range listed {
		tags = append(tags, string(o.Tag))
		refs = append(refs, string(o.Ref))
	}
	// Of all regions, since the list of a provider knows none.
	known, err := s.provisioner.store.RefsOfTags(ctx, tags)
	if err != nil {
		return err
	}
	// An error here ends the sweep before the regions are compared; the next sweep does both again.
	if err := s.stopOrphans(ctx, name, by, s.noteOrphans(strayServers(listed, known), now), done); err != nil {
		return err
	}
	return eachRegion(ctx, s.provisioner.store.ProvisionRegions, func(region string) error {
		due, err := s.provisioner.store.NoteList(ctx, region, name, refs, now)
		// Two lists in a row have to lack a deployment before anybody looks at it: see NoteList.
		done.add("unlisted", due)
		return err
	})
}

// listServers reads all pages, each within the budget that all workers share.
func (s *orphanSweeper) listServers(ctx context.Context, name string,
	by provider.Provider) ([]provider.Observation, error) {
	return provider.Collect(func(cursor string) (page provider.Page, err error) {
		if err := s.awaitBudget(ctx, name, by.Capabilities()); err != nil {
			return page, err
		}
		call, cancel := context.WithTimeout(ctx, s.provisioner.opt.Timeout)
		defer cancel()
		start := time.Now()
		page, err = by.List(call, s.provisioner.opt.Owner, cursor)
		s.provisioner.metrics.observeCall(name, "list", err, time.Since(start))
		return page, err
	})
}

// awaitBudget waits for the right to one call of a list. It takes one call at a time, as steps take theirs: a long list
// must not use up what the steps need.
func (s *orphanSweeper) awaitBudget(ctx context.Context, name string, can provider.Capabilities) error {
	for {
		granted, err := s.provisioner.takeBudgets(ctx, name, can, []operation{opFind})
		if err != nil {
			return err
		}
		if freeAt := granted.takeCall(opFind); freeAt == nil {
			return nil
		}
		if !wait.For(ctx, listPause) {
			return ctx.Err()
		}
	}
}

// strayServers returns the listed servers that belong to no deployment, or are a second one of a deployment.
func strayServers(listed []provider.Observation, known map[provider.Tag]provider.Ref) (stray []provider.Observation) {
	for _, o := range listed {
		own, ok := known[o.Tag]
		// Without a ref in the deployment, a step is in progress whose Deploy may have made this server.
		if ok && (own == "" || own == o.Ref) || o.Ref == "" || !o.Exists() || o.Phase == provider.PhaseStopping {
			continue
		}
		stray = append(stray, o)
	}
	return stray
}

// noteOrphans notes when stray servers were first listed, and returns those that have run for orphanAge.
func (s *orphanSweeper) noteOrphans(stray []provider.Observation, now time.Time) (orphans []provider.Observation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := map[provider.Ref]time.Time{}
	for _, o := range stray {
		since := o.Started
		if since.IsZero() {
			// The age of a server without a start time counts from the first list of this process that had it.
			since = now
			if !s.firstSeen[o.Ref].IsZero() {
				since = s.firstSeen[o.Ref]
			}
			seen[o.Ref] = since
		}
		if now.Sub(since) >= orphanAge {
			orphans = append(orphans, o)
		}
	}
	// A new map, not an addition: servers that are gone are forgotten.
	s.firstSeen = seen
	return orphans
}

func (s *orphanSweeper) stopOrphans(ctx context.Context, name string, by provider.Provider,
	orphans []provider.Observation, done Done) error {
	if len(orphans) > maxOrphans {
		s.provisioner.log.LogAttrs(ctx, slog.LevelWarn, "more orphans than one sweep stops",
			slog.String("provider", name), slog.Int("orphans", len(orphans)))
		orphans = orphans[:maxOrphans]
	}
	for _, o := range orphans {
		call, cancel := context.WithTimeout(ctx, s.provisioner.opt.Timeout)
		start := time.Now()
		// Without grace: placement knows no such server, so that nobody is sent there.
		err := by.Stop(call, o.Ref, 0)
		cancel()
		s.provisioner.metrics.observeCall(name, opStop, err, time.Since(start))
		if err != nil && provider.KindOf(err) != provider.Gone {
			return err
		}
		s.provisioner.log.LogAttrs(ctx, slog.LevelWarn, "stopped a server without a deployment",
			slog.String("provider", name), slog.String("ref", string(o.Ref)))
		s.provisioner.metrics.orphansStopped.WithLabelValues(name).Inc()
		done.add("orphans", 1)
		// Logged in the database after the server was stopped: an event without its stop would be wrong.
		if err := s.provisioner.store.LogOrphan(ctx, name, o); err != nil {
			return err
		}
	}
	return nil
}
