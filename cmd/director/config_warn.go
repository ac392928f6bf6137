package main

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	"github.com/lattice-director/director/server/orchestrator"
	"github.com/lattice-director/director/server/realtime"
)

// warnFormer logs a line for each removed or replaced setting that is set.
func (l *loaded) warnFormer(ctx context.Context, log *slog.Logger) {
	for _, s := range l.formerSettings {
		attrs := []slog.Attr{slog.String("set_by", string(s.setBy)), slog.String("instead", s.whatHolds)}
		if s.isRead {
			log.LogAttrs(ctx, slog.LevelWarn, "this setting was replaced, and the next release will not read it", attrs...)
			continue
		}
		log.LogAttrs(ctx, slog.LevelWarn, "this setting was removed and has no effect", attrs...)
	}
}

// warnParties logs that players may name anybody as a member of their party. Old clients need that until they are
// updated.
func (l *loaded) warnParties(ctx context.Context, log *slog.Logger) {
	if l.config.Server.OpenParties {
		log.LogAttrs(ctx, slog.LevelWarn, "players may take anybody into their party whom they name",
			slog.String("set_by", "DIRECTOR_OPEN_PARTIES"),
			slog.String("instead", "lobbies, or may_party_with of PUT /backend/players"))
	}
}

// warnIgnored logs a line for each former setting that is set, and for each DIRECTOR_ variable that is no setting,
// such as a misspelt one.
func (l *loaded) warnIgnored(ctx context.Context, log *slog.Logger) {
	l.warnFormer(ctx, log)
	for _, s := range l.environ.unknownVariables() {
		attrs := []slog.Attr{slog.String("variable", s.name)}
		if s.suggestion != "" {
			attrs = append(attrs, slog.String("did_you_mean", s.suggestion))
		}
		log.LogAttrs(ctx, slog.LevelWarn, "this variable is no setting and has no effect", attrs...)
	}
}

// warnRealtime logs settings of the realtime lobby that may be mistakes.
func (l *loaded) warnRealtime(ctx context.Context, log *slog.Logger) {
	// With a secret and no address, somebody has probably forgotten the address.
	if l.config.Realtime.Addr == "" && l.config.Projects.Addr == "" && l.config.Realtime.MasterSecret != "" {
		log.LogAttrs(ctx, slog.LevelWarn, "the realtime lobby is not served: neither DIRECTOR_REALTIME_ADDR nor "+
			"DIRECTOR_REALTIME_CONTROL_ADDR is set")
	}
	if l.config.Realtime.Addr != "" && l.config.Realtime.AuthMode != realtime.AuthRequired {
		log.LogAttrs(ctx, slog.LevelWarn, "the realtime lobby serves clients without tokens",
			slog.String("auth", string(l.config.Realtime.AuthMode)))
	}
	if ignored := l.environ.variablesWithoutEffect("NEXIS_"); len(ignored) > 0 {
		log.LogAttrs(ctx, slog.LevelWarn, "these variables of Nexis have no effect here",
			slog.String("variables", strings.Join(ignored, ",")))
	}
}

// warnOrchestrator logs settings of the orchestrator that may be mistakes.
func (c *Config) warnOrchestrator(ctx context.Context, log *slog.Logger) {
	if c.Orchestrator.Options.Addr == "" && len(c.Orchestrator.Options.AgentKeys)+len(c.Orchestrator.AdminKeys) > 0 {
		log.LogAttrs(ctx, slog.LevelWarn, "Rivalis is not served: DIRECTOR_ORCHESTRATOR_ADDR is not set")
	}
	for _, set := range []struct {
		name string
		keys []string
	}{{"DIRECTOR_ORCHESTRATOR_AGENT_KEYS", c.Orchestrator.Options.AgentKeys},
		{"DIRECTOR_ORCHESTRATOR_ADMIN_KEYS", c.Orchestrator.AdminKeys}} {
		if slices.ContainsFunc(set.keys, func(key string) bool { return len(key) < orchestrator.GoodKeyBytes }) {
			log.LogAttrs(ctx, slog.LevelWarn,
				"a key has fewer than 32 characters: 'openssl rand -hex 24' makes a better one",
				slog.String("setting", set.name))
		}
	}
}
