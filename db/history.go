package db

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// historyTables are partitioned by day.
var historyTables = []string{
	"session_history", "seat_history", "events", "ticket_events", "match_history", "ticket_history",
	"deployment_history", "player_refusals",
}

// historyPruneBatch is how many rows of a default partition one statement deletes, which takes about 50 ms.
const historyPruneBatch = 5000

// HistoryTurn counts what TurnHistory did.
type HistoryTurn struct {
	PartitionsMade    int // day partitions
	PartitionsDropped int // partitions past retention
	DefaultsReplaced  int // default partitions that had rows and became ordinary partitions
	RowsPruned        int // rows past retention, deleted from default partitions
}

// Retention is how long history is kept.
type Retention struct {
	MatchHistory time.Duration // match_history and ticket_history; 0: a day's rows are dropped when the day has ended
	OtherTables  time.Duration
}

// refusalsKept bounds how long player_refusals is kept: players who are refused for hours make very many rows.
const refusalsKept = 7 * 24 * time.Hour

func (r Retention) ofTable(table string) time.Duration {
	switch table {
	case "match_history", "ticket_history":
		return r.MatchHistory
	case "player_refusals":
		return min(r.OtherTables, refusalsKept)
	}
	return r.OtherTables
}

// TurnHistory makes the day partitions of the history tables from today to ahead days later, and drops partitions whose
// last row is older than keep. A default partition that got rows while no worker ran becomes an ordinary partition of
// the days it holds. Each step is a transaction of its own that blocks other users of a table for about 250 ms at most.
// Any number of workers may call it at once. Errors: Unavailable, also when a step did not get its lock in that time;
// the other tables are done then.
func (s *Store) TurnHistory(ctx context.Context, ahead int, keep Retention) (HistoryTurn, error) {
	var turn HistoryTurn
	var failed []error
	for _, table := range historyTables {
		if err := s.turnTable(ctx, table, ahead, keep.ofTable(table), &turn); err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", table, frame.Classify(err)))
		}
	}
	return turn, errors.Join(failed...)
}

func (s *Store) turnTable(ctx context.Context, table string, ahead int, keep time.Duration, turn *HistoryTurn) error {
	// First, because Postgres makes no partition for days of which the default partition has rows.
	if err := s.repairDefault(ctx, table, keep, turn); err != nil {
		return err
	}
	err := repeatStep(&turn.PartitionsMade, onePartition, func() (int32, error) {
		return s.q.EnsurePartitions(ctx, query.EnsurePartitionsParams{HistoryTable: table, Ahead: int32(ahead)})
	})
	if err != nil {
		return err
	}
	return repeatStep(&turn.PartitionsDropped, onePartition, func() (int32, error) {
		return s.q.DropPartitions(ctx, query.DropPartitionsParams{HistoryTable: table, Keep: keep})
	})
}

// repairDefault removes rows past retention from the default partition, and replaces the partition if others are left.
func (s *Store) repairDefault(ctx context.Context, table string, keep time.Duration, turn *HistoryTurn) error {
	err := repeatStep(&turn.RowsPruned, historyPruneBatch, func() (int32, error) {
		return s.q.PruneDefaultPartition(ctx,
			query.PruneDefaultPartitionParams{HistoryTable: table, Keep: keep, Batch: historyPruneBatch})
	})
	if err != nil {
		return err
	}
	bounded, err := s.q.BoundDefaultPartition(ctx, table)
	if err != nil || !bounded {
		return err
	}
	// In a second transaction: it validates the CHECK that BoundDefaultPartition has added, while rows are inserted.
	replaced, err := s.q.ReplaceDefaultPartition(ctx, table)
	if replaced {
		turn.DefaultsReplaced++
	}
	return err
}

// onePartition is the most partitions that a call of EnsurePartitions or DropPartitions makes or drops: each holds its
// locks for a short time.
const onePartition = 1

// repeatStep repeats a step until it does less than a batch, and adds what the steps did to done.
func repeatStep(done *int, batch int32, step func() (int32, error)) error {
	for {
		n, err := step()
		*done += int(n)
		if err != nil || n < batch {
			return err
		}
	}
}
