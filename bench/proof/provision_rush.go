package proof

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"
)

// rush is the first part: players come at once to an empty pool.
type rush struct {
	*testbed

	cloud   *cloud
	players int

	took   time.Duration // until all had seats
	most   int           // status calls in a second
	seated seated
}

const (
	askAgain  = 250 * time.Millisecond
	rushLasts = 2 * time.Minute // at most
)

//go:embed provision_seated.sql
var seatedText string

// seated is what the database knows of the players.
type seated struct {
	Players  int     // with a seat
	Servers  int     // that were started
	WaitP99  float64 // milliseconds from the moment when the server was ready
	Deployed float64 // milliseconds from the first demand until the first server was ready
}

func (r *rush) run(ctx context.Context) (err error) {
	r.options.say("%d players on an empty pool", r.players)
	ctx, cancel := context.WithTimeout(ctx, rushLasts)
	defer cancel()
	stop := r.cloud.most("get")
	begun := time.Now()
	err = r.play(ctx)
	r.took, r.most = time.Since(begun), stop()
	if err != nil {
		return err
	}
	rows, err := r.pool.Query(ctx, seatedText)
	if err != nil {
		return err
	}
	r.seated, err = pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[seated])
	return err
}

// play lets each player ask until they have a seat.
func (r *rush) play(ctx context.Context) error {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: r.players}}
	defer client.CloseIdleConnections()
	url := r.Replicas()[0].URL + "/matchmake"
	all, ctx := errgroup.WithContext(ctx)
	for n := range r.players {
		all.Go(func() error {
			token, err := r.mint(fmt.Sprint("player-", n))
			if err != nil {
				return err
			}
			return askForSeat(ctx, client, url, token)
		})
	}
	return all.Wait()
}

func askForSeat(ctx context.Context, client *http.Client, url, token string) error {
	again := time.NewTicker(askAgain)
	defer again.Stop()
	for {
		err := postJSON(ctx, client, url, "Authorization", "Bearer "+token,
			map[string]any{"region": "bench", "mode": "bench", "max_players": serverCapacity}, &struct{}{})
		var status statusError
		if err == nil || !errors.As(err, &status) || status != http.StatusConflict {
			return err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (r *rush) findings() []Finding {
	needed := (r.players + serverCapacity - 1) / serverCapacity
	return []Finding{
		noted(atLeast("players with a seat", float64(r.seated.Players), float64(r.players), inFull),
			"all after %.1f s; the first server was ready after %.1f s", r.took.Seconds(), r.seated.Deployed/1000),
		noted(atMost("servers started", float64(r.seated.Servers), float64(needed+poolBuffer), inFull),
			"%d hold all players, and the buffer is %d", needed, poolBuffer),
		atMost("wait for a seat after the server is ready, p99", r.seated.WaitP99, 500, millis),
		atMost("status calls, in the second with most", float64(r.most), edgegapRates.Get, perSecond),
	}
}
