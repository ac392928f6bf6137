package bots

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/lattice-director/director/examples/arena/game"
	"github.com/lattice-director/director/sdk"
)

// bot is one player.
type bot struct {
	config      *Config
	httpClient  *http.Client
	name        string
	player      *sdk.Player
	skillRating float64
	record      record
}

func newBot(config *Config, client *http.Client, name string, skill float64) *bot {
	token := func(ctx context.Context) (string, error) { return config.AccessToken(ctx, name) }
	b := &bot{config: config, httpClient: client, name: name, player: sdk.NewPlayer(config.Director, token),
		skillRating: skill}
	b.record.botStats = BotStats{Name: name, Errors: map[string]int{}}
	return b
}

// playMatch plays one match until the bot has played for the time of stay. It connects with the party's seat first and,
// when the connection is lost, with the seat that the director returns next.
func (b *bot) playMatch(ctx context.Context, match sdk.Match, stay time.Duration) {
	// Also after an error: the next visit is then one of a new match.
	defer b.record.endMatch()
	seat, err := b.resolveSeat(ctx, match)
	if err != nil {
		b.noteFailure(ctx, err)
		if seat, err = b.awaitSeat(ctx, match); err != nil {
			return
		}
	}
	pause := newPauses()
	for {
		played, err := b.playVisit(ctx, seat, stay)
		if err == nil {
			return
		}
		b.noteFailure(ctx, err)
		// The bot was connected, so that the next loss begins with the shortest pause again.
		if played > 0 {
			pause.Reset()
		}
		pauseFor(ctx, pause.NextBackOff())
		// Only time on a server counts, so that a killed server shortens no match.
		stay -= played
		if stay <= 0 || ctx.Err() != nil {
			return
		}
		if seat, err = b.awaitSeat(ctx, match); err != nil {
			return
		}
	}
}

// resolveSeat gets this bot's session token for the match of its party.
func (b *bot) resolveSeat(ctx context.Context, match sdk.Match) (sdk.Seat, error) {
	ticket, err := b.player.Resolve(ctx, match.Handle)
	if err != nil {
		return sdk.Seat{}, err
	}
	match.Endpoint, match.SessionID = ticket.Endpoint, ticket.SessionID
	return sdk.Seat{Match: match, SessionToken: ticket.SessionToken}, nil
}

// awaitSeat calls matchmake for this bot alone until the director returns a seat: the one that the bot still has, or a
// new one. Its only error is the end of ctx.
func (b *bot) awaitSeat(ctx context.Context, match sdk.Match) (sdk.Seat, error) {
	alone := sdk.MatchRequest{Region: match.Region, Mode: match.Mode, MaxPlayers: match.MaxPlayers}
	return retryForever(ctx, b, func() (sdk.Seat, error) { return b.player.Seat(ctx, alone) })
}

// playVisit connects and plays for at most stay. It returns how long it played, and the error that ended it early.
func (b *bot) playVisit(ctx context.Context, seat sdk.Seat, stay time.Duration) (time.Duration, error) {
	conn, err := connect(ctx, b.httpClient, seat, b.config.SilentFor)
	if err != nil {
		return 0, err
	}
	b.record.beginVisit(seat)
	start := time.Now()
	err = b.playUntil(ctx, conn, stay)
	return time.Since(start), err
}

// playUntil chases coins until the time of stay is over or ctx ends; neither is an error.
func (b *bot) playUntil(ctx context.Context, c *connection, stay time.Duration) error {
	timer := time.AfterFunc(stay, c.leaveGame)
	defer timer.Stop()
	stop := context.AfterFunc(ctx, c.leaveGame)
	defer stop()
	defer func() { _ = c.ws.CloseNow() }()
	for {
		// The end of ctx must not break off the read: leaveGame then closes the connection cleanly.
		err := b.chaseCoins(context.WithoutCancel(ctx), c)
		if err != nil && c.isClosedByBot.Load() {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// chaseCoins reads one state of the world and steers to the nearest coin. A server that sends nothing for SilentFor
// counts as dead, even if its machine keeps the connection open.
func (b *bot) chaseCoins(ctx context.Context, c *connection) error {
	ctx, cancel := context.WithTimeout(ctx, c.silentFor)
	defer cancel()
	m, err := c.receiveMessage(ctx)
	if err != nil || m.State == nil {
		return err
	}
	b.record.noteState(m.State)
	if m.State.Tick%3 != 0 {
		return nil // of ten states a second: steering three times is enough
	}
	return c.sendMessage(ctx, game.ClientMessage{Type: game.TypeSteer, Heading: m.State.ToNearestCoin(b.name)})
}

// noteFailure counts and logs an error, unless the end of ctx has caused it.
func (b *bot) noteFailure(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	b.record.countError(err)
	b.config.Logger.LogAttrs(ctx, slog.LevelWarn, "bot in trouble", slog.String("bot", b.name),
		slog.Any("error", err))
}

// retryForever repeats do with growing pauses until do succeeds or ctx ends. The failures count as the bot's.
func retryForever[T any](ctx context.Context, b *bot, do func() (T, error)) (T, error) {
	return backoff.Retry(ctx, func() (T, error) {
		got, err := do()
		if err != nil {
			b.noteFailure(ctx, err)
		}
		return got, err
	}, backoff.WithBackOff(newPauses()), backoff.WithMaxElapsedTime(0))
}
