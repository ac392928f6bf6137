package lab

import (
	"context"
	_ "embed"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lattice-director/director/bench"
)

//go:embed counters.sql
var counters string

// Database is the meter of a director that runs elsewhere and whose database is known: WAL, transactions that wrote,
// and the CPU of this process. Safe for concurrent use.
type Database struct {
	pool    *pgxpool.Pool
	version string
}

var _ bench.Meter = (*Database)(nil)

// OpenDatabase connects to a database, which needs no privileges. pooled is for a pooler that does not support prepared
// statements. The caller closes it.
func OpenDatabase(ctx context.Context, url string, pooled bool) (*Database, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	if pooled {
		// This mode describes statements and prepares none: the next transaction would not find them on its connection.
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	d := &Database{pool: pool}
	// This connects, too: the pool itself opens connections when they are needed.
	err = pool.AcquireFunc(ctx, func(c *pgxpool.Conn) error {
		d.version = c.Conn().PgConn().ParameterStatus("server_version")
		return nil
	})
	if err != nil {
		pool.Close()
		return nil, err
	}
	return d, nil
}

// Close closes the connection.
func (d *Database) Close() { d.pool.Close() }

// Version of Postgres, such as 17.6.
func (d *Database) Version() string { return d.version }

// Read implements [bench.Meter].
func (d *Database) Read(ctx context.Context) (bench.Reading, error) {
	own, _, err := usage(os.Getpid())
	if err != nil {
		return bench.Reading{}, err
	}
	rows, _ := d.pool.Query(ctx, counters) // the rows have its error
	count, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[struct{ WALBytes, Transactions float64 }])
	return bench.Reading{GeneratorCPU: own, WALBytes: count.WALBytes, Transactions: count.Transactions}, err
}
