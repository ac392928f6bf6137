package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"
)

const (
	tidyEvery = 250 * time.Millisecond
	// lifeGrace is the grace of a server whose lifetime is over.
	lifeGrace = 30 * time.Second
	// abandonAfter is how long processes may survive SIGKILL, as those that wait for a broken disk or belong to another
	// user.
	abandonAfter = 10 * time.Second
	// keepGone is the time for which the directory of a gone server is kept, so that operators can read its log.
	keepGone = time.Hour
)

// tidyForever runs until ctx ends. Several directors may do this in one directory. An error is logged once until it
// changes.
func (p *Provider) tidyForever(ctx context.Context) {
	tick := time.NewTicker(tidyEvery)
	defer tick.Stop()
	last := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			text := ""
			if err := p.tidyAll(ctx); err != nil && ctx.Err() == nil {
				text = err.Error()
			}
			if text != "" && text != last {
				p.log.Warn("cannot tidy the directory of game servers", slog.String("error", text))
			}
			last = text
		}
	}
}

// tidyAll tidies all deployments, also after an error of one. It waits for the lock for at most a second, because a
// director that is frozen may hold the lock.
func (p *Provider) tidyAll(ctx context.Context) error {
	all, err := p.allDeployments()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	var errs []error
	for _, d := range all {
		if err := p.tidyOne(ctx, d, time.Now()); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", d.state.Tag, err))
		}
	}
	return errors.Join(errs...)
}

// tidyOne ends, kills or deletes one deployment if it is due, and otherwise bounds its log. It takes the lock only for
// a deployment that is due.
func (p *Provider) tidyOne(ctx context.Context, d deployment, now time.Time) error {
	if !d.isDue(now) {
		return d.trimLog(p.config.MaxLogBytes)
	}
	unlock, err := p.acquireLock(ctx, "stop")
	if err != nil {
		return err
	}
	defer unlock()
	// Read and judged again under the lock: another director may have ended it meanwhile, or started it anew with
	// another lifetime.
	d, found, err := p.readDeployment(d.state.Tag)
	if err != nil || !found || !d.isDue(now) {
		return err
	}
	switch {
	case !d.isAlive():
		// Asked again: the server may have ended since isDue saw it alive.
		if !d.isExpired(now) {
			return nil
		}
		return os.RemoveAll(d.dir)
	case d.hasFile("stop.json"):
		return p.endStop(d, now)
	default:
		return d.stopGroup(now, lifeGrace)
	}
}

// isDue reports whether the server must be signalled or its directory deleted.
func (d deployment) isDue(now time.Time) bool {
	if !d.isAlive() {
		return d.isExpired(now)
	}
	var s stopState
	if err := readJSON(d.pathOf("stop.json"), &s); err == nil {
		return !s.Abandoned && (!s.Signalled || now.After(s.KillAt))
	}
	return !d.state.Ends.IsZero() && now.After(d.state.Ends)
}

// isExpired reports whether the directory of a server that has ended may be deleted.
func (d deployment) isExpired(now time.Time) bool {
	return now.Sub(d.state.Started) > keepGone && !d.hasRecentLog(now)
}

// hasRecentLog reports whether the server may have been alive within keepGone.
func (d deployment) hasRecentLog(now time.Time) bool {
	info, err := os.Stat(d.pathOf("log"))
	return err == nil && now.Sub(info.ModTime()) < keepGone
}

// endStop sends SIGKILL after the grace, or SIGTERM if Stop was called before the process had written its id.
func (p *Provider) endStop(d deployment, now time.Time) error {
	var s stopState
	if err := readJSON(d.pathOf("stop.json"), &s); err != nil {
		return err
	}
	// Within the grace a deployment is due only while SIGTERM is still to be sent.
	if !now.After(s.KillAt) {
		return d.stopGroup(now, 0) // the KillAt of stop.json replaces this grace
	}
	if now.After(s.KillAt.Add(abandonAfter)) {
		p.log.Error("processes of a game server survive SIGKILL: it counts as gone",
			slog.String("tag", string(d.state.Tag)), slog.Int("pid", d.readPID()))
		s.Abandoned = true
		return writeJSON(d.pathOf("stop.json"), s)
	}
	var err error
	if pid := d.readPID(); pid != 0 {
		err = killGroup(pid)
	}
	return errors.Join(err, d.killHolders())
}

// trimLog moves the end of a log that is too long into log.1. It truncates the log instead of renaming it, because the
// server appends to the open file.
func (d deployment) trimLog(limit int64) error {
	log, err := os.OpenFile(d.pathOf("log"), os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	info, err := log.Stat()
	if err != nil || info.Size() <= limit {
		return err
	}
	old, err := os.OpenFile(d.pathOf("log.1"), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = old.Close() }()
	_, err = io.Copy(old, io.NewSectionReader(log, info.Size()-limit/2, limit/2))
	// What the server prints between the copy and the truncation is lost. It appends, so its next line is the first.
	return errors.Join(err, log.Truncate(0))
}
