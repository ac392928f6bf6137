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
	Name      string    // of the file
	AppliedAt time.Time // by the database's clock, in UTC; zero while the migration is pending
}

// IsApplied reports whether the database has this migration.
func (m Migration) IsApplied() bool { return !m.AppliedAt.IsZero() }

// Status returns every migration in this binary in order, with its state in the database. It waits for no lock, so that
// it shows a run in progress. In a database that was never migrated it creates goose's version table.
func Status(ctx context.Context, url string) ([]Migration, error) {
	return embedded.readStatus(ctx, url)
}

// Version returns the newest version that was applied to the database; 0 when there is none. It is higher than [Latest]
// where a newer binary has migrated the database. Like [Status], Version waits for no lock and creates goose's version
// table.
func Version(ctx context.Context, url string) (int64, error) {
	return embedded.appliedVersion(ctx, url)
}

func (s fileSet) readStatus(ctx context.Context, url string) ([]Migration, error) {
	p, err := s.openProvider(ctx, url, withoutLock)
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

func (s fileSet) appliedVersion(ctx context.Context, url string) (int64, error) {
	p, err := s.openProvider(ctx, url, withoutLock)
	if err != nil {
		return 0, err
	}
	defer func() { _ = p.Close() }()
	version, err := p.GetDBVersion(ctx)
	return version, explainError(err)
}

// versionBelow returns the version that remains after the newest steps migrations are taken back; 0: none remains.
func versionBelow(ctx context.Context, p *goose.Provider, steps int) (int64, error) {
	list, err := p.Status(ctx)
	if err != nil {
		return 0, err
	}
	versions := []int64{0} // of a database without migrations, then ascending
	for _, m := range list {
		if m.State == goose.StateApplied {
			versions = append(versions, m.Source.Version)
		}
	}
	newest := len(versions) - 1
	return versions[max(0, newest-steps)], nil
}
