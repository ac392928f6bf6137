package bots

import (
	"context"
	"log/slog"
	"time"

	"github.com/lattice-director/director/sdk"
)

// bot is one player.
type bot struct {
	swarm       *Swarm
	name        string
	player      *sdk.Player
	skillRating float64
	record      record
}

func (s *Swarm) newBot(name string, skill float64) *bot {
	token := func(ctx context.Context) (string, error) { return s.botsConfig.AccessToken(ctx, name) }
	b := &bot{swarm: s, name: name, player: sdk.NewPlayer(s.botsConfig.Director, token), skillRating: skill}
	b.record.botStats = BotStats{Name: name, Errors: map[string]int{}}
	return b
}

// playMatch plays one match for the planned time. It connects with the party's seat first and, when the connection is lost,
// with the seat that the director returns next.
func (b *bot) playMatch(ctx context.Context, match sdk.Match, stay time.Duration) {
	defer b.record.noteRest()
	seat, err := b.resolveSeat(ctx, match)
	if err != nil {
		b.noteFailure(ctx, err)
	}
	pause := newPauses()
	for left := stay; left > 0 && ctx.Err() == nil; {
		if err != nil {
			seat, err = retryForever(ctx, b,
				func() (sdk.Seat, error) { return b.player.Seat(ctx, b.soloRequest(match)) })
			if err != nil {
				return
			}
		}
		var played time.Duration
		played, err = b.sitDown(ctx, seat, left)
		if played > 0 {
			pause.Reset()
		}
		if err != nil {
			b.noteFailure(ctx, err)
			b.swarm.pauseFor(ctx, pause.NextBackOff())
		}
		left -= played
	}
}

func (b *bot) resolveSeat(ctx context.Context, match sdk.Match) (sdk.Seat, error) {
	ticket, err := b.player.Resolve(ctx, match.Handle)
	match.Endpoint, match.SessionID = ticket.Endpoint, ticket.SessionID
	return sdk.Seat{Match: match, SessionToken: ticket.SessionToken}, err
}

// soloRequest calls matchmake for this bot only. The director returns the session that the bot has a seat in, if it
// still exists.
func (b *bot) soloRequest(match sdk.Match) sdk.MatchRequest {
	return sdk.MatchRequest{Region: match.Region, Mode: match.Mode, MaxPlayers: match.MaxPlayers}
}

// sitDown connects and plays for at most stay. It returns how long it played, and the error that ended it early.
func (b *bot) sitDown(ctx context.Context, seat sdk.Seat, stay time.Duration) (time.Duration, error) {
	conn, err := b.swarm.connectBot(ctx, seat)
	if err != nil {
		return 0, err
	}
	b.record.noteSeat(seat)
	start := time.Now()
	err = conn.playUntil(ctx, b, stay)
	return time.Since(start), err
}

func (b *bot) noteFailure(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	b.record.noteTrouble(err)
	b.swarm.botsConfig.Logger.LogAttrs(ctx, slog.LevelWarn, "bot in trouble", slog.String("bot", b.name),
		slog.Any("error", err))
}
