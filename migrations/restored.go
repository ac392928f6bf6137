package migrations

import (
	"context"
	"fmt"
	"log/slog"
	"time"
)

// renewRestored numbers the transactions of rows anew if the database was restored from a dump. Any number of processes
// may call it at once: one does the work, the others wait for that.
func renewRestored(ctx context.Context, url string, log *slog.Logger) error {
	db, err := openDatabase(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	var isRestored bool
	if err := db.QueryRowContext(ctx, "SELECT restored_from_dump()").Scan(&isRestored); err != nil {
		return fmt.Errorf("migrations: cannot see whether the database was restored from a dump: %w", err)
	}
	if !isRestored {
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
