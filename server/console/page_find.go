package console

import (
	"context"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/server/rest"
)

// findView is what templates/find.html reads.
type findView struct {
	Text   string
	Groups []foundGroup // without empty ones
}

// foundGroup are the things of a kind whose ids begin with a text.
type foundGroup struct {
	Name  string
	Links []foundLink
}

type foundLink struct{ Text, Path string }

// serveFind answers the search of the frame. It leads to the page of the thing whose id is the text, or is the only one
// that begins with it; where several ids begin so, it lists them.
func (c *Console) serveFind(g *gin.Context) {
	q := queryOf(g)
	ctx, cancel := c.boundCall(g.Request.Context())
	defer cancel()
	if to := c.findExactly(ctx, q.Get("q")); to != "" {
		g.Redirect(http.StatusSeeOther, to)
		return
	}
	text, groups, err := c.findSpelled(ctx, q.spellings("q"))
	if err != nil {
		rest.Fail(g, err)
		return
	}
	switch {
	case len(groups) == 0:
		// Any text may be the id of a player, whose page says that nothing is known.
		g.Redirect(http.StatusSeeOther, playerPath(q.Exactly("q")))
	case len(groups) == 1 && len(groups[0].Links) == 1:
		g.Redirect(http.StatusSeeOther, groups[0].Links[0].Path)
	default:
		c.writeTemplate(g, http.StatusOK, c.templates.pagesByName["find"], c.makeView(g, q, findView{text, groups}))
	}
}

// findSpelled tries texts one after another, until some ids begin with one. It returns the last text that it tried, and
// what has an id that begins with it.
func (c *Console) findSpelled(ctx context.Context, spellings []string) (text string, groups []foundGroup, err error) {
	for _, text = range spellings {
		if groups, err = c.findBeginning(ctx, text); err != nil || len(groups) > 0 {
			return text, groups, err
		}
	}
	return text, nil, nil
}

// findExactly returns the path of the page of what has this id; empty: nothing has, or it may be the id of a player.
func (c *Console) findExactly(ctx context.Context, text string) string {
	// Ids of sessions and tickets need no query. Errors of the queries below count as not found: the page that comes next
	// meets them again, and shows them.
	if _, _, err := db.ParseSessionID(text); err == nil {
		return sessionPath(text)
	}
	if db.IssuedHere(c.options.Universe, db.TicketID, text) {
		return ticketPath(text)
	}
	if i, err := instanceOf(ctx, c.options.Store, text); err == nil {
		return instancePath(i.Instance)
	}
	if id, err := uuid.Parse(text); err == nil {
		return c.findUUID(ctx, id)
	}
	if a, err := agentOf(ctx, c.options.Store, text); err == nil {
		return agentPath(a.Agent)
	}
	return ""
}

// findUUID returns the path of the page of a deployment whose server has not registered, or else of a match.
func (c *Console) findUUID(ctx context.Context, id uuid.UUID) string {
	if d, err := deploymentOf(ctx, c.options.Store, id); err == nil {
		return deploymentPath(d.Deployment.String())
	}
	// If there is no such match, its page says so.
	return matchPath(id.String())
}

// shortestBegun is the least length of a text by which things are found: a shorter one begins nearly all ids.
const shortestBegun = 2

// findBeginning returns what has an id that begins with a text, by kind.
func (c *Console) findBeginning(ctx context.Context, text string) (groups []foundGroup, err error) {
	if len(text) < shortestBegun {
		return nil, nil
	}
	// A text that was copied from a page may have been cut there.
	text = strings.TrimSuffix(text, "…")
	err = c.options.Store.ReadOps(ctx, func(ctx context.Context, q opsview.Querier) error {
		for _, kind := range c.findableKinds() {
			words, err := kind.findWords(ctx, q, text)
			if err != nil {
				return err
			}
			group := foundGroup{Name: kind.name}
			for _, word := range words {
				group.Links = append(group.Links, foundLink{word, kind.pathOf(word)})
			}
			if len(words) > 0 {
				groups = append(groups, group)
			}
		}
		return nil
	})
	return groups, err
}

// findableKind is a kind of things that are found by the beginning of their ids.
type findableKind struct {
	name      string
	findWords func(ctx context.Context, q opsview.Querier, begun string) ([]string, error)
	pathOf    func(id string) string
}

func (c *Console) findableKinds() []findableKind {
	return []findableKind{
		{"Players", func(ctx context.Context, q opsview.Querier, begun string) ([]string, error) {
			return opsview.PlayersBeginning(ctx, q, begun, c.options.Universe)
		}, playerPath},
		{"Players who are called so", func(ctx context.Context, q opsview.Querier, begun string) ([]string, error) {
			return opsview.PlayersCalled(ctx, q, begun, c.options.Universe)
		}, playerPath},
		{"Game servers", wordsOf(opsview.Fleet, opsview.FleetFilter{}, "instance"), instancePath},
		{"Sessions", wordsOf(opsview.Sessions, opsview.SessionFilter{}, "session"), sessionPath},
		{"Tickets", wordsOf(opsview.WaitingTickets, opsview.WaitingTicketFilter{Universe: c.options.Universe},
			"ticket"),
			ticketPath},
		{"Matches", wordsOf(opsview.Matches, opsview.MatchFilter{}, "match"), matchPath},
		{"Deployments", wordsOf(opsview.Deployments, opsview.DeploymentFilter{}, "deployment"), deploymentPath},
		{"Agents", wordsOf(opsview.Agents, opsview.AgentFilter{}, "agent"), agentPath},
	}
}

// wordsOf finds the values of a column that begin with a text.
func wordsOf[T any, F opsview.Filter](v opsview.View[T, F], f F,
	column string) func(context.Context, opsview.Querier, string) ([]string, error) {
	return func(ctx context.Context, q opsview.Querier, begun string) ([]string, error) {
		return v.Words(ctx, q, f, column, begun, nil)
	}
}
