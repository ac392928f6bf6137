package main

import (
	"log/slog"

	"github.com/lattice-director/director/internal/cli"
)

// newLog returns a logger to stderr. stdout is for a command's result.
func (p *program) newLog(conf *loaded) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(conf.config.LogLevel)) // cannot fail: loadSettings has checked it
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: logMilliseconds}
	// JSON for collectors of logs, text for people at a terminal.
	if conf.config.LogFormat == "json" || conf.config.LogFormat == "auto" && !cli.IsTerminal(p.stderr) {
		return slog.New(slog.NewJSONHandler(p.stderr, options))
	}
	return slog.New(slog.NewTextHandler(p.stderr, options))
}

// logMilliseconds logs every duration in milliseconds and adds the unit to its name: took becomes took_ms. Without it,
// JSON would show nanoseconds, and text a unit that depends on the value.
func logMilliseconds(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() != slog.KindDuration {
		return a
	}
	return slog.Float64(a.Key+"_ms", float64(a.Value.Duration().Microseconds())/1000)
}
