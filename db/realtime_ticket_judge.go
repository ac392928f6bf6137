package db

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/match/explain"
	"github.com/lattice-director/director/match/profile"
)

// judgedBy returns the profiles that judge the tickets of wishes, each once.
func judgedBy(wishes []*wish) (names []string) {
	for _, w := range wishes {
		if w.ticket != nil && !slices.Contains(names, w.draft.Profile) {
			names = append(names, w.draft.Profile)
		}
	}
	return names
}

// judge refuses a ticket that would wait for nothing. Errors: NotFound, "profile_unknown"; Invalid, "cannot_match".
func (t *waits) judge(w *wish) error {
	if w.ticket == nil {
		return nil
	}
	p, known := t.profiles[w.draft.Profile]
	if !known {
		return fault.New(fault.NotFound, "profile_unknown", "there is no profile %q, or it is retired", w.draft.Profile)
	}
	if p == nil {
		return nil
	}
	ticket, err := w.ticket(t.Now())
	if err != nil {
		return err
	}
	if why := explain.Refusal(p, ticket); why != "" {
		return fault.New(fault.Invalid, "cannot_match", "%s", why)
	}
	return nil
}

// readProfiles reads the profiles that judge. Versions never change, so that a document is read once.
func (t *waits) readProfiles(ctx context.Context, live []query.LiveVersionsRow) error {
	t.profiles = make(map[string]*profile.Profile, len(live))
	for _, row := range live {
		p, known := t.judges.get(row)
		if !known {
			stored, err := t.q.GetProfileVersion(ctx,
				query.GetProfileVersionParams{Region: t.tickets.region, Name: row.Name, Version: row.Live})
			if err != nil {
				return fmt.Errorf("version %d of profile %s: %w", row.Live, row.Name, err)
			}
			p, _ = profile.ParseStored([]byte(stored.Document))
			t.judges.put(row, p)
		}
		t.profiles[row.Name] = p
	}
	return nil
}

// judges keeps the live versions of the profiles that room types name, which bounds it. It is safe for concurrent use.
type judges struct {
	mu     sync.Mutex
	byName map[string]judge
}

type judge struct {
	version int32
	profile *profile.Profile // nil: this release cannot read it
}

func (j *judges) get(row query.LiveVersionsRow) (*profile.Profile, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	kept, known := j.byName[row.Name]
	return kept.profile, known && kept.version == row.Live
}

func (j *judges) put(row query.LiveVersionsRow, p *profile.Profile) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.byName == nil {
		j.byName = map[string]judge{}
	}
	j.byName[row.Name] = judge{row.Live, p}
}
