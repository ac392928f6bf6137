package provision

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/internal/notify"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/provider"
)

// ClaimSweep claims the sweep of a provider for an interval, in which no other worker sweeps it. It returns the
// database's time, and false if the sweep is not due. Errors: Unavailable.
func (s *Store) ClaimSweep(ctx context.Context, provider string, every time.Duration) (time.Time, bool, error) {
	now, err := s.frame.Queries.ClaimSweep(ctx,
		query.ClaimSweepParams{Provider: provider, Now: s.virtualNow(), Every: every})
	// Another worker sweeps the provider now, or has done so within the interval.
	if errors.Is(err, pgx.ErrNoRows) {
		return time.Time{}, false, nil
	}
	if err != nil {
		return time.Time{}, false, frame.Classify(err)
	}
	return now, true, nil
}

// DelaySweep makes the next sweep of a provider due after a pause. Errors: Unavailable.
func (s *Store) DelaySweep(ctx context.Context, provider string, pause time.Duration) error {
	return frame.Classify(s.frame.Queries.DelaySweep(ctx,
		query.DelaySweepParams{Provider: provider, Now: s.virtualNow(), Pause: pause}))
}

// RefsOfTags returns the refs of the deployments, of all regions, that have one of these tags: "" where the ref is not
// known. A tag without a deployment has no entry. Errors: Unavailable.
func (s *Store) RefsOfTags(ctx context.Context, tags []string) (map[provider.Tag]provider.Ref, error) {
	// All regions are asked: a tag does not say in which one its deployment is.
	refs := map[provider.Tag]provider.Ref{}
	regions, err := s.frame.Queries.ProvisionRegions(ctx)
	if err != nil {
		return nil, frame.Classify(err)
	}
	for _, region := range regions {
		rows, err := s.frame.Queries.RefsOfTags(ctx, query.RefsOfTagsParams{Region: region, Tags: tags})
		if err != nil {
			return nil, frame.Classify(err)
		}
		for _, r := range rows {
			refs[provider.Tag(r.Tag)] = provider.Ref(r.Ref)
		}
	}
	return refs, nil
}

// NoteList compares a complete list of a provider, whose call began at beganAt, with the ready deployments of a region.
// A deployment that is missing from two lists in a row becomes due. Errors: Unavailable.
func (s *Store) NoteList(ctx context.Context, region, provider string, refs []string,
	beganAt time.Time) (newlyDue int, err error) {
	due, err := s.frame.Queries.NoteList(ctx,
		query.NoteListParams{Region: region, Provider: provider, Refs: refs, Began: &beganAt, Now: s.virtualNow()})
	// The loop "provision" asks the provider about each deployment that is due.
	if err == nil && due > 0 {
		s.sendNotice(notify.TopicDeployments, region)
	}
	return int(due), frame.Classify(err)
}

// LogOrphan writes the event of a server that ran without a deployment and was stopped. Errors: Unavailable.
func (s *Store) LogOrphan(ctx context.Context, name string, o provider.Observation) error {
	detail, err := json.Marshal(map[string]string{"provider": name, "ref": string(o.Ref), "tag": string(o.Tag),
		"location": o.Location})
	if err != nil {
		return fmt.Errorf("detail of an orphan: %w", err)
	}
	// Without a region, which only a deployment has.
	return frame.Classify(s.frame.Queries.LogDeployment(ctx,
		query.LogDeploymentParams{Kind: "deployment.orphan_stopped", Detail: detail}))
}
