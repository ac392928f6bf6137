package bots

import (
	"context"
	"log/slog"
	"time"

	"github.com/lattice-director/director/sdk"
)

// bot is one player.
type bot struct {
	swarm  *Swarm
	name   string
	player *sdk.Player
	skill  float64
	record record
}

func (s *Swarm) newBot(name string, skill float64) *bot {
	token := func(ctx context.Context) (string, error) { return s.cfg.AccessToken(ctx, name) }
	b := &bot{swarm: s, name: name, player: sdk.NewPlayer(s.cfg.Director, token), skill: skill}
	b.record.stats = BotStats{Name: name, Errors: map[string]int{}}
	return b
}

// play plays one match for the planned time. It connects with the party's seat first and, when the connection is lost,
// with the seat that the director returns next.
func (b *bot) play(ctx context.Context, match sdk.Match, stay time.Duration) {
	defer b.record.rests()
	seat, err := b.resolve(ctx, match)
	if err != nil {
		b.failed(ctx, err)
	}
	pause := pauses()
	for left := stay; left > 0 && ctx.Err() == nil; {
		if err != nil {
			seat, err = retryForever(ctx, b,
				func() (sdk.Seat, error) { return b.player.Seat(ctx, b.soloRequest(match)) })
			if err != nil {
				return
			}
		}
		var played time.Duration
		played, err = b.sit(ctx, seat, left)
		if played > 0 {
			pause.Reset()
		}
		if err != nil {
			b.failed(ctx, err)
			b.swarm.pause(ctx, pause.NextBackOff())
		}
		left -= played
	}
}

func (b *bot) resolve(ctx context.Context, match sdk.Match) (sdk.Seat, error) {
	ticket, err := b.player.Resolve(ctx, match.Handle)
	match.Endpoint, match.SessionID = ticket.Endpoint, ticket.SessionID
	return sdk.Seat{Match: match, SessionToken: ticket.SessionToken}, err
}

// soloRequest calls matchmake for this bot only. The director returns the session that the bot has a seat in, if it
// still exists.
func (b *bot) soloRequest(match sdk.Match) sdk.MatchRequest {
	return sdk.MatchRequest{Region: match.Region, Mode: match.Mode, MaxPlayers: match.MaxPlayers}
}

// sit connects and plays for at most stay. It returns how long it played, and the error that ended it early.
func (b *bot) sit(ctx context.Context, seat sdk.Seat, stay time.Duration) (time.Duration, error) {
	conn, err := b.swarm.connect(ctx, seat)
	if err != nil {
		return 0, err
	}
	b.record.seated(seat)
	start := time.Now()
	err = conn.play(ctx, b, stay)
	return time.Since(start), err
}

func (b *bot) failed(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	b.record.trouble(err)
	b.swarm.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "bot in trouble", slog.String("bot", b.name),
		slog.Any("error", err))
}
