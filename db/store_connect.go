package db

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lattice-director/director/db/internal/conn"
	"github.com/lattice-director/director/db/internal/tx"
)

// poolConfig returns the configuration of the pool of short transactions.
func poolConfig(cfg Config) (*pgxpool.Config, error) {
	pc, err := pgxpool.ParseConfig(cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("DATABASE_URL: %w", err)
	}
	if cfg.Pooler != "" && cfg.Pooler != "pgbouncer" {
		return nil, fmt.Errorf("pooler %q: allowed are \"\" and \"pgbouncer\"", cfg.Pooler)
	}
	if cfg.Pooler == "pgbouncer" {
		// Statements are described and never prepared: with pgbouncer, the next transaction may run on another
		// connection.
		pc.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	pc.MaxConns = cfg.MaxConns
	pc.MaxConnIdleTime = 5 * time.Minute
	pc.ConnConfig.Tracer = cfg.Tracer
	pc.ConnConfig.ConnectTimeout = connectTimeout
	cfg.nameConn(pc.ConnConfig)
	pc.ConnConfig.BuildContextWatcherHandler = conn.NewCancelHandler
	pc.AfterConnect = cfg.prepareConn
	return pc, nil
}

// connectTimeout replaces that of the URL: a host that does not answer delays calls by 2 s before the next host of the
// URL is tried.
const connectTimeout = 2 * time.Second

// nameConn makes connections appear under Name in pg_stat_activity, unless the URL names them.
func (c Config) nameConn(cc *pgx.ConnConfig) {
	if cc.RuntimeParams["application_name"] == "" {
		cc.RuntimeParams["application_name"] = cmp.Or(c.Name, "director")
	}
}

func (c Config) prepareConn(ctx context.Context, pg *pgx.Conn) error {
	conn.RegisterTypes(pg.TypeMap())
	return tx.InitSession(ctx, pg, c.transactionHold().SessionTimeouts(), hotPlans)
}

func (c Config) prepareReader(ctx context.Context, pg *pgx.Conn) error {
	conn.RegisterTypes(pg.TypeMap())
	return tx.InitSession(ctx, pg, c.transactionHold().ReaderTimeouts(), readerPlans)
}

const (
	// hotPlans makes Postgres keep one plan per hot statement, because planning it again for each batch costs more than
	// running it. Rows are found by index however small the table was when the plan was made: the table may grow by
	// thousands of rows before Postgres collects statistics again, and hot tables are in memory. Bitmap scans are off
	// because a plain index scan marks the dead entries that it finds, so that the next scan skips them. Nothing is
	// compiled. Where a pooler does not keep these settings, statements are only slower.
	hotPlans = "SET enable_seqscan = off; SET enable_bitmapscan = off; " + readerPlans

	// readerPlans leaves the choice of scan to the planner: a large read may select a large part of a table, by an
	// index of terms or by a scan of the table.
	readerPlans = "SET plan_cache_mode = force_generic_plan; SET random_page_cost = 1.1; SET jit = off"
)
