package migrations

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

// renewRestored numbers the transactions of rows anew where the database was restored from a dump. Any number of
// processes may try at once: one works, the others wait.
func renewRestored(ctx context.Context, url string, log *slog.Logger) error {
	db, err := openDatabase(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	var restored bool
	if err := db.QueryRowContext(ctx, "SELECT restored_from_dump()").Scan(&restored); err != nil {
		return fmt.Errorf("migrations: cannot see whether the database was restored from a dump: %w", err)
	}
	if !restored {
		return nil
	}
	log.LogAttrs(ctx, slog.LevelInfo, "the database was restored from a dump: numbering the transactions of its rows anew")
	began := time.Now()
	if _, err := db.ExecContext(ctx, "CALL renew_restored_transactions()"); err != nil {
		return fmt.Errorf("migrations: numbering transactions of a restored database anew: %w", err)
	}
	log.LogAttrs(ctx, slog.LevelInfo, "transactions numbered anew", slog.Duration("took", time.Since(began)))
	return nil
}
