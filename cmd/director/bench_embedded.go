package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/pflag"

	"github.com/lattice-director/director/server"
)

// embed runs a director of its own, as `dev` does, while measure measures it, and cleans up.
func (p *program) embed(ctx context.Context, measure func(context.Context, target) error) (err error) {
	conf, remove, err := p.embedded()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	running, stop := context.WithCancel(ctx)
	defer stop()
	listening, ended := make(chan target, 1), make(chan error, 1)
	go func() {
		err := p.develop(running, conf, func(_ *developing, s *server.Server) {
			listening <- target{conf: &conf.Config, urls: []string{"http://" + s.Addr().String()}}
		})
		stop() // a director that ends by itself ends the measuring
		ended <- err
	}()
	select {
	case t := <-listening:
		err = measureReady(running, t, measure)
	case err := <-ended:
		return err
	}
	stop()
	if died := <-ended; died != nil {
		return died
	}
	return err
}

// embedded is what the director that is measured is told: the defaults, whatever the environment says, so that figures
// of two machines compare. It stays silent as long as all is well.
func (p *program) embedded() (conf *loaded, remove func() error, err error) {
	if conf, err = load(pflag.NewFlagSet("", pflag.ContinueOnError), nil, byDev); err != nil {
		return nil, nil, err
	}
	tmp, _ := p.environ.lookup("TMPDIR")
	if conf.Data, err = os.MkdirTemp(tmp, "director-bench-"); err != nil {
		return nil, nil, err
	}
	conf.Addr, conf.MetricsAddr = "127.0.0.1:0", "127.0.0.1:0"
	conf.AllowOpenFleet, conf.PlayerRate, conf.LogLevel = true, 0, "error" // failed calls are counted
	// Others may pass through it, as in dataDir.make.
	return conf, func() error { return os.RemoveAll(conf.Data) }, os.Chmod(conf.Data, 0o711)
}

// readyPatience is for the first keys and the first connections.
const readyPatience = 30 * time.Second

func measureReady(ctx context.Context, t target, measure func(context.Context, target) error) (err error) {
	if t.postgres, err = postgresVersion(ctx, t.conf.DatabaseURL); err != nil {
		return err
	}
	if err := ready(ctx, t.urls[0]); err != nil {
		return err
	}
	return measure(ctx, t)
}

func postgresVersion(ctx context.Context, url string) (string, error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return "", err
	}
	return conn.PgConn().ParameterStatus("server_version"), conn.Close(ctx)
}

// ready waits until a replica says that it is.
func ready(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, readyPatience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/readyz", nil)
	if err != nil {
		return err
	}
	ticks := time.NewTicker(20 * time.Millisecond)
	defer ticks.Stop()
	for {
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			_ = resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the director did not become ready: %w", ctx.Err())
		case <-ticks.C:
		}
	}
}
