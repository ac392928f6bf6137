// Package lab is where a director is measured: a durable Postgres of its own and replicas of the director on it, each a
// process, so that the CPU of the director, of Postgres and of who loads them can be told apart. A [Lab] is the meter of
// the runs in it ([bench.Meter]); [Database] is one for a director that runs elsewhere.
//
// Replicas run with default settings, whatever the environment says, so that figures compare; but without a limit per
// player, and silent. It starts programs and knows nothing of what they do; package bench loads them.
package lab

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/internal/pglocal"
	"github.com/lattice-director/director/migrations"
)

// Options of a lab. JWKS is required.
type Options struct {
	JWKS     string            // what access tokens are verified with, as JSON
	Replicas int               // 0 is 1. The first has a worker beside it
	Dir      string            // where the directory is made that holds everything; "" is the temporary directory
	Program  string            // the director's binary; "" is this program
	Env      []string          // of its processes, NAME=value: PATH and the like, and settings that are not the lab's defaults
	Postgres map[string]string // settings of Postgres that are not its defaults
	Log      *slog.Logger      // of migrations and Postgres; nil is silent
}

// Lab is a laboratory that runs. It is safe for concurrent use.
type Lab struct {
	*Database

	options    Options
	dir        string
	fleetToken string
	env        []string
	cluster    *pglocal.Cluster
	replicas   []*Process

	baselines []*Process // once somebody asked for them

	alive context.Context // ends when something of the lab dies
	fail  context.CancelCauseFunc

	mu        sync.Mutex
	processes []*Process
}

var _ bench.Meter = (*Lab)(nil)

// Start makes a directory, starts Postgres in it, migrates the schema, starts the replicas and waits until they are
// ready. ctx bounds the starting, not the life. On Linux everything ends with this process, even when that is killed;
// the directory is then left behind. Errors: [pglocal.ErrNotInstalled]; else what did not start, and its last words.
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

func furnish(o Options) (l *Lab, err error) {
	if o.Program == "" {
		if o.Program, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	l = &Lab{options: o, fleetToken: rand.Text()}
	if l.dir, err = os.MkdirTemp(o.Dir, "director-bench-"); err != nil {
		return nil, err
	}
	l.alive, l.fail = context.WithCancelCause(context.Background())
	return l, os.Chmod(l.dir, 0o711) // the user that Postgres runs as may have to pass through it
}

func (l *Lab) start(ctx context.Context) (err error) {
	postgres := pglocal.Options{Dir: filepath.Join(l.dir, "postgres"), Durable: true, Settings: l.options.Postgres, Log: l.options.Log}
	if l.cluster, err = pglocal.Start(ctx, postgres); err != nil {
		return err
	}
	go l.watch(l.cluster.Done(), l.cluster.Err)
	if _, err := migrations.Up(ctx, l.URL(), l.options.Log); err != nil {
		return err
	}
	if l.Database, err = OpenDatabase(ctx, l.URL(), false); err != nil {
		return err
	}
	l.env = append(l.defaults(), l.options.Env...)
	for n := range max(l.options.Replicas, 1) {
		args := []string{"serve"}
		if n == 0 {
			args = append(args, "--work")
		}
		replica, err := l.Start(ctx, Command{Name: fmt.Sprintf("replica-%d", n), Args: args})
		if err != nil {
			return err
		}
		l.replicas = append(l.replicas, replica)
	}
	return nil
}

// defaults are what every process of the lab is told.
func (l *Lab) defaults() []string {
	kek := make([]byte, 32)
	_, _ = rand.Read(kek) // never fails, by its contract
	return []string{
		"DATABASE_URL=" + l.URL(),
		"DIRECTOR_AUTH_JWKS=" + l.options.JWKS,
		"DIRECTOR_FLEET_TOKEN=" + l.fleetToken,
		"DIRECTOR_KEY_ENCRYPTION_KEY=" + base64.StdEncoding.EncodeToString(kek),
		"DIRECTOR_PLAYER_RATE=0",
		"DIRECTOR_MAX_IN_FLIGHT=4096", // as many callers as a closed loop has are to wait, not to be refused
		"DIRECTOR_LOG_LEVEL=error",    // calls that fail are counted
	}
}

// Replicas are the processes that Start started.
func (l *Lab) Replicas() []*Process { return l.replicas }

// URL addresses the lab's database, as its superuser.
func (l *Lab) URL() string { return l.cluster.URL("postgres") }

// FleetToken is what the lab's processes ask game servers for.
func (l *Lab) FleetToken() string { return l.fleetToken }

// Postgres is the cluster.
func (l *Lab) Postgres() *pglocal.Cluster { return l.cluster }

// Living gives a context that ends with ctx, or when something of the lab dies: its cause then says what. The caller
// cancels it.
func (l *Lab) Living(ctx context.Context) (context.Context, context.CancelFunc) {
	living, end := context.WithCancelCause(ctx)
	unbind := context.AfterFunc(l.alive, func() { end(context.Cause(l.alive)) })
	return living, func() { unbind(); end(nil) }
}

// watch tells when something ends by itself.
func (l *Lab) watch(done <-chan struct{}, why func() error) {
	<-done
	if err := why(); err != nil {
		l.fail(err)
	}
}

// closePatience is for the calls that are still under way.
const closeTimeout = 20 * time.Second

// Close ends everything and removes the directory. The data is gone then.
func (l *Lab) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	l.mu.Lock()
	processes := l.processes
	l.mu.Unlock()
	var errs []error
	for _, p := range processes {
		errs = append(errs, p.Stop(ctx))
	}
	if l.Database != nil {
		l.Database.Close()
	}
	if l.cluster != nil {
		errs = append(errs, l.cluster.Err(), l.cluster.StopImmediate()) // nobody will read what it would write
	}
	l.fail(nil)
	return errors.Join(append(errs, os.RemoveAll(l.dir))...)
}
