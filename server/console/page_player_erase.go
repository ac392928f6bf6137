package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/server/rest"
)

// ErasePath is the action that erases the player.
func (v playerView) ErasePath() string { return pathWithPlayer("/players/erase", v.Player) }

// ExportPath is the file of what is known of the player.
func (v playerView) ExportPath() string { return pathWithPlayer("/players/export", v.Player) }

// pathWithPlayer adds the player to a path, as a parameter of the query.
func pathWithPlayer(path, player string) string {
	return query{escapedPath: path, values: url.Values{playerParam: {player}}}.URL()
}

// erasePlayerAction removes a player from live tables, history and events.
var erasePlayerAction = action{
	routePath: "/players/erase",
	askFirst: func(_ context.Context, _ Store, q query) (question, error) {
		player := q.Exactly(playerParam)
		return question{Title: "Erase " + player + "?", Button: "Erase the player", Danger: true, RequiresReason: true,
			Back: "/players",
			Effects: []string{
				"What backends have stored of the player, refusals, latencies and messages are deleted.",
				"Seats are freed, also of a player who plays now; tickets leave the queue; sessions of the realtime lobby end.",
				"In history and events a random key stands for the player, and attributes are gone. This cannot be undone.",
				"Let your login refuse the player first: a player who comes back is a new one.",
				"Backups, logs and webhooks that were delivered keep what they have. The event has your name and " +
					"the reason, not the player.",
			}}, nil
	},
	do: func(ctx context.Context, s Store, q query, d deed) (string, error) {
		erased, err := s.As(d.Actor).ErasePlayer(ctx, q.Exactly(playerParam), d.Reason)
		return outcomeText(erased.ChangedRows > 0,
			fmt.Sprintf("The player is erased, in %s.", pluralText(int(erased.ChangedRows), "row", "rows")),
			"Nothing was known of the player."), err
	},
}

// exportPlayer answers with what is known of a player, as the JSON that director players export prints.
func (c *Console) exportPlayer(g *gin.Context) {
	ctx, cancel := c.boundCall(g.Request.Context())
	defer cancel()
	export, err := c.options.Store.ExportPlayer(ctx, queryOf(g).Exactly(playerParam))
	if err != nil {
		rest.Fail(g, err)
		return
	}
	file, err := json.MarshalIndent(export, "", "  ")
	if err != nil {
		rest.Fail(g, err)
		return
	}
	g.Header("Content-Disposition", `attachment; filename="player.json"`)
	g.Data(http.StatusOK, "application/json", file)
}
