package console

import (
	"context"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/server/rest"
)

// mountPages adds all pages.
func (c *Console) mountPages(r gin.IRoutes, gate *rest.Gate) {
	addPage(c, r, gate, c.healthPage())
	addPage(c, r, gate, fleetPage)
	addPage(c, r, gate, evacuationsPage)
	addPage(c, r, gate, evacuationPage)
	addPage(c, r, gate, movesPage)
	addPage(c, r, gate, instancePage)
	addPage(c, r, gate, sessionPage)
	addPage(c, r, gate, playerPage(c.options.Universe))
	addPage(c, r, gate, capacityPage)
	addPage(c, r, gate, keysPage)
	addPage(c, r, gate, queuePage(c.options.Universe, c.options.Explain))
	addPage(c, r, gate, ticketPage(c.options.Universe, c.options.Explain))
	addPage(c, r, gate, matchesPage(c.options.Universe))
	addPage(c, r, gate, matchPage(c.options.Explain))
	addPage(c, r, gate, agentsPage)
	addPage(c, r, gate, agentPage)
	addPage(c, r, gate, roomsPage)
	addPage(c, r, gate, lobbiesPage)
	addPage(c, r, gate, lobbyPage)
	addPage(c, r, gate, deploymentsPage)
	addPage(c, r, gate, deploymentPage)
	addPage(c, r, gate, poolPage)
	addPage(c, r, gate, eventsPage)
	addPage(c, r, gate, pastPage)
	addPage(c, r, gate, webhooksPage)
	addPage(c, r, gate, webhookPage)
	addPage(c, r, gate, valvesPage)
	// These routes are no page[T]: two answer with files, and the last one leads to a page.
	r.GET("/events/export", gate.Enter, c.exportEvents)
	r.GET("/players/export", gate.Enter, c.exportPlayer)
	r.GET("/find", gate.Enter, c.serveFind)
}

// mountActions adds what operators may do.
func (c *Console) mountActions(r gin.IRoutes, gate *rest.Gate) {
	c.addAction(r, gate, drainAction)
	c.addAction(r, gate, undrainAction)
	for _, group := range drainGroups {
		c.addAction(r, gate, group.drainAction())
		c.addAction(r, gate, group.undrainAction())
		c.addAction(r, gate, group.evacuateAction())
	}
	c.addAction(r, gate, closeAction)
	c.addAction(r, gate, freeSeatAction)
	c.addAction(r, gate, cancelTicketAction(c.options.Universe))
	c.addAction(r, gate, erasePlayerAction)
	c.addAction(r, gate, taintAction)
	c.addAction(r, gate, revokeEnrolmentAction)
	c.addAction(r, gate, revokeServerAction)
	c.addAction(r, gate, drainAgentAction)
	c.addAction(r, gate, undrainAgentAction)
	for _, inRoom := range roomActions {
		c.addAction(r, gate, inRoom.toAction())
	}
	c.addAction(r, gate, stopAction)
	c.addAction(r, gate, scaleAction)
	c.addAction(r, gate, pausePoolAction)
	c.addAction(r, gate, resumePoolAction)
	c.addAction(r, gate, pauseProfileAction(c.options.Universe))
	c.addAction(r, gate, resumeProfileAction(c.options.Universe))
	c.addAction(r, gate, c.rotateAction())
	c.addAction(r, gate, pauseWebhookAction)
	c.addAction(r, gate, resumeWebhookAction)
	// All dead letters of a webhook, or that of one event.
	c.addAction(r, gate, replayWebhookAction("/webhooks/:name/replay"))
	c.addAction(r, gate, replayWebhookAction("/webhooks/:name/replay/:event"))
	c.addAction(r, gate, limitValveAction)
	c.addAction(r, gate, openValveAction)
	c.addAction(r, gate, closeValveAction)
}

// addPage mounts a page.
func addPage[T any](c *Console, r gin.IRoutes, gate *rest.Gate, p page[T]) {
	untyped := anyPage{p.templateName, p.readEvery, func(ctx context.Context, q query) (any, error) {
		ctx, cancel := c.boundCall(ctx)
		defer cancel()
		return p.loadData(ctx, c.options.Store, q)
	}}
	r.GET(p.routePath, func(g *gin.Context) {
		if p.readEvery > 0 && wantsStream(g.Request) {
			c.streamPage(g, untyped)
			return
		}
		// Streams have not entered the gate: each would hold a slot for minutes.
		gate.Enter(g)
		if !g.IsAborted() {
			c.showPage(g, untyped)
		}
	})
}
