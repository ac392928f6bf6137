package migrations

import (
	"context"
	"path"
	"time"

	"github.com/pressly/goose/v3"
)

// Migration is one migration of this binary and whether the database has it.
type Migration struct {
	Version   int64
	Name      string    // the file's name
	AppliedAt time.Time // by the database's clock, in UTC; zero while it is pending
}

// IsApplied reports whether the database has this migration.
func (m Migration) IsApplied() bool { return !m.AppliedAt.IsZero() }

// Status returns every migration in this binary in order, with its state in the database. It waits for no lock, so it
// shows a run in progress. On a database never migrated before it creates goose's empty version table.
func Status(ctx context.Context, url string) ([]Migration, error) {
	return embedded.readStatus(ctx, url)
}

// Version returns the newest version applied to the database, zero when there is none; it may be higher than [Latest]
// when a newer binary migrated it. It waits for no lock, and creates goose's version table like [Status].
func Version(ctx context.Context, url string) (int64, error) {
	return embedded.appliedVersion(ctx, url)
}

func (s set) readStatus(ctx context.Context, url string) ([]Migration, error) {
	p, err := s.openProvider(ctx, url, unlocked)
	if err != nil {
		return nil, err
	}
	defer func() { _ = p.Close() }()
	found, err := p.Status(ctx)
	if err != nil {
		return nil, explainError(err)
	}
	list := make([]Migration, 0, len(found))
	for _, m := range found {
		list = append(list, Migration{Version: m.Source.Version, Name: path.Base(m.Source.Path),
			AppliedAt: m.AppliedAt})
	}
	return list, nil
}

func (s set) appliedVersion(ctx context.Context, url string) (int64, error) {
	p, err := s.openProvider(ctx, url, unlocked)
	if err != nil {
		return 0, err
	}
	defer func() { _ = p.Close() }()
	version, err := p.GetDBVersion(ctx)
	return version, explainError(err)
}

// versionBelow returns the version that remains after steps applied migrations are taken back, zero for an empty schema.
func versionBelow(ctx context.Context, p *goose.Provider, steps int) (int64, error) {
	list, err := p.Status(ctx)
	if err != nil {
		return 0, err
	}
	applied := []int64{0}
	for _, m := range list {
		if m.State == goose.StateApplied {
			applied = append(applied, m.Source.Version)
		}
	}
	return applied[max(0, len(applied)-1-steps)], nil
}
