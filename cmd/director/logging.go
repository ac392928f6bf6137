package main

import (
	"context"
	"log/slog"

	"github.com/lattice-director/director/internal/cli"
)

// newLog writes to stderr: stdout is for what a command was asked for.
func (p *program) newLog(conf *loaded) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(conf.LogLevel)) // one of the words that are allowed
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: milliseconds}
	if conf.LogFormat == "json" || conf.LogFormat == "auto" && !cli.IsTerminal(p.stderr) {
		return slog.New(slog.NewJSONHandler(p.stderr, options))
	}
	return slog.New(slog.NewTextHandler(p.stderr, options))
}

// milliseconds logs every duration in milliseconds, under a name that says so: took becomes took_ms. By itself JSON would show
// nanoseconds, and text a unit that depends on the value.
func milliseconds(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() != slog.KindDuration {
		return a
	}
	return slog.Float64(a.Key+"_ms", float64(a.Value.Duration().Microseconds())/1000)
}

// warnStrangers tells of variables that somebody believes in and nobody reads.
func (p *program) warnStrangers(ctx context.Context, log *slog.Logger) {
	for _, s := range p.environ.strangers() {
		attrs := []slog.Attr{slog.String("variable", s.name)}
		if s.meant != "" {
			attrs = append(attrs, slog.String("did_you_mean", s.meant))
		}
		log.LogAttrs(ctx, slog.LevelWarn, "this variable is no setting and has no effect", attrs...)
	}
}
