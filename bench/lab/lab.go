// Package lab starts a director to be measured: a durable Postgres of its own and replicas of the director on it, each
// as a process, so that the CPU of the director, of Postgres and of the load generator are measured separately. A [Lab]
// is the meter of its runs ([bench.Meter]); [Database] is a meter for a director that runs elsewhere.
//
// Replicas run with default settings, whatever the environment contains, so that figures compare; but without a rate
// limit per player, and with few logs. The package starts programs; package bench puts loads on them.
package lab

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/internal/dev/pglocal"
	"github.com/lattice-director/director/migrations"
)

// Options of a lab. JWKS is required.
type Options struct {
	JWKS     string // JWKS that verifies access tokens
	Replicas int    // 0 is 1. The first one also runs the worker, unless Worker is set
	Worker   bool   // the worker is a process of its own, as in production

	// Faces are what processes have besides the HTTP API and gRPC. Env must have the keys of Orchestrator; see
	// [OpenLobby] for settings of Realtime.
	Faces []Face

	Dir     string // parent of the lab's directory; "" is the temporary directory
	Program string // binary of the director; "" is this program
	// Env is the environment of its processes, NAME=value: PATH and the like, and settings that differ from the lab's
	// defaults.
	Env []string
}

// Lab is a running laboratory. Meters and Living are safe for concurrent use, what starts and ends processes is not; its
// fields are read-only.
type Lab struct {
	FleetToken string           // of its processes
	OpsToken   string           // of operators
	Replicas   []*Process       // that Start started
	Worker     *Process         // may be the first replica
	Postgres   *pglocal.Cluster // nil before it has started

	options   Options
	dir       string
	env       []string
	database  *Database  // nil before it has started
	baselines []*Process // nil before the first call of Baselines
	processes []*Process // all

	living context.Context // ends when a process of the lab ends by itself
	fail   context.CancelCauseFunc
}

var _ bench.Meter = (*Lab)(nil)

// Start makes a directory, starts Postgres in it, migrates the schema, starts the replicas and waits until they are
// ready. ctx bounds the start, not the lab's lifetime. On Linux all processes end with this process, even when it is
// killed; the directory is then left behind. Errors: [pglocal.ErrNotInstalled]; the process that failed, with the end
// of its log.
func Start(ctx context.Context, o Options) (*Lab, error) {
	l, err := furnish(o)
	if err != nil {
		return nil, err
	}
	if err := l.start(ctx); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// furnish makes the directory, and a lab that has started nothing. Close removes it.
func furnish(o Options) (l *Lab, err error) {
	if o.Program == "" { // a test is its own director
		if o.Program, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	l = &Lab{options: o, FleetToken: rand.Text(), OpsToken: rand.Text()}
	if l.dir, err = os.MkdirTemp(o.Dir, "director-bench-"); err != nil {
		return nil, err
	}
	l.living, l.fail = context.WithCancelCause(context.Background())
	return l, os.Chmod(l.dir, 0o711) // Postgres may run as another user, who needs to pass through it
}

// start starts everything. After an error, Close ends what has started.
func (l *Lab) start(ctx context.Context) (err error) {
	postgres := pglocal.Options{Dir: filepath.Join(l.dir, "postgres"), Durable: true}
	if l.Postgres, err = pglocal.Start(ctx, postgres); err != nil {
		return err
	}
	go l.watch(l.Postgres.Done(), l.Postgres.Err)
	if _, err := migrations.Up(ctx, l.URL(), nil); err != nil {
		return err
	}
	if l.database, err = OpenDatabase(ctx, l.URL(), false); err != nil {
		return err
	}
	l.env = append(l.defaults(), l.options.Env...)
	for n := range max(l.options.Replicas, 1) {
		args := []string{"serve"}
		if n == 0 && !l.options.Worker { // one worker is enough, and its CPU counts with the replica's
			args = append(args, "--work")
		}
		replica, err := l.Start(ctx, Command{Name: fmt.Sprintf("replica-%d", n), Args: args})
		if err != nil {
			return err
		}
		l.Replicas = append(l.Replicas, replica)
	}
	if !l.options.Worker {
		l.Worker = l.Replicas[0]
		return nil
	}
	l.Worker, err = l.Start(ctx, Command{Name: "worker", Args: []string{"work"}, OnlyMetrics: true})
	return err
}

// defaults is the environment of all processes of the lab.
func (l *Lab) defaults() []string {
	kek := make([]byte, 32)
	_, _ = rand.Read(kek) // never fails
	return []string{
		"DATABASE_URL=" + l.URL(),
		"DIRECTOR_AUTH_JWKS=" + l.options.JWKS,
		"DIRECTOR_FLEET_TOKEN=" + l.FleetToken,
		// Callers take others into their parties, for whom no backend vouches.
		"DIRECTOR_OPEN_PARTIES=true",
		"DIRECTOR_OPS_TOKENS=" + l.OpsToken,
		"DIRECTOR_KEY_ENCRYPTION_KEY=" + base64.StdEncoding.EncodeToString(kek),
		// Each run has the same players, so that their tokens are made once.
		"DIRECTOR_PLAYER_RATE=0",
		"DIRECTOR_MAX_IN_FLIGHT=4096", // callers of a closed loop must wait, not be refused
		"DIRECTOR_LOG_LEVEL=error",    // failed calls are counted by the load
	}
}

// KeepTickets is a setting with which tickets stay though nobody waits for them, as in loads that queue many.
const KeepTickets = "DIRECTOR_TICKET_LEASE=0s"

// OpenLobby are settings of a realtime lobby that asks for no tokens, and has the rooms that loads use.
func OpenLobby() []string {
	return []string{"DIRECTOR_REALTIME_AUTH=disabled", "DIRECTOR_REALTIME_CONFORMANCE=true",
		"DIRECTOR_REALTIME_MASTER_SECRET=" + rand.Text()}
}

// Version of Postgres, such as 17.6.
func (l *Lab) Version() string { return l.database.Version() }

// URL is the URL of the lab's database, as its superuser.
func (l *Lab) URL() string { return l.Postgres.URL("postgres") }

// Living returns a context that ends with ctx, or when a process of the lab ends by itself: the cause then says which.
// The caller cancels it.
func (l *Lab) Living(ctx context.Context) (context.Context, context.CancelFunc) {
	living, end := context.WithCancelCause(ctx)
	unbind := context.AfterFunc(l.living, func() { end(context.Cause(l.living)) })
	return living, func() { unbind(); end(nil) }
}

// watch ends the contexts of Living when a process ends by itself.
func (l *Lab) watch(done <-chan struct{}, why func() error) {
	<-done
	if err := why(); err != nil {
		l.fail(err)
	}
}

// closeTimeout is for the calls that are still in progress.
const closeTimeout = 20 * time.Second

// Close stops everything and removes the directory with all data.
func (l *Lab) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	var errs []error
	// The processes stop before Postgres, so that their last statements do not fail.
	for _, p := range l.processes {
		if !p.Handle.Killed() { // a load may have killed it
			errs = append(errs, p.Handle.Stop(ctx))
		}
	}
	if l.database != nil {
		l.database.Close()
	}
	if l.Postgres != nil {
		errs = append(errs, l.Postgres.Err(), l.Postgres.StopImmediate()) // without a checkpoint: the data is deleted
	}
	l.fail(nil)
	return errors.Join(append(errs, os.RemoveAll(l.dir))...)
}
