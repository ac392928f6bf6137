package console

import (
	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/server/rest"
)

// mountPages adds all pages.
func (c *Console) mountPages(r gin.IRoutes, gate *rest.Gate) {
	add(c, r, gate, c.healthPage())
	add(c, r, gate, fleetPage)
	add(c, r, gate, evacuationsPage)
	add(c, r, gate, evacuationPage)
	add(c, r, gate, instancePage)
	add(c, r, gate, sessionPage)
	add(c, r, gate, playerPage(c.Universe))
	add(c, r, gate, capacityPage)
	add(c, r, gate, keysPage)
	add(c, r, gate, queuePage(c.Universe, c.Explain))
	add(c, r, gate, ticketPage(c.Universe, c.Explain))
	add(c, r, gate, matchesPage(c.Universe))
	add(c, r, gate, matchPage(c.Explain))
	add(c, r, gate, agentsPage)
	add(c, r, gate, agentPage)
	add(c, r, gate, roomsPage)
	add(c, r, gate, lobbiesPage)
	add(c, r, gate, lobbyPage)
	add(c, r, gate, deploymentsPage)
	add(c, r, gate, deploymentPage)
	add(c, r, gate, poolPage)
	add(c, r, gate, eventsPage)
	add(c, r, gate, pastPage)
	add(c, r, gate, webhooksPage)
	add(c, r, gate, webhookPage)
	add(c, r, gate, valvesPage)
	r.GET("/events/export", gate.Enter, c.exportEvents)
	r.GET("/players/export", gate.Enter, c.exportPlayer)
	r.GET("/find", gate.Enter, c.find)
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
	c.addAction(r, gate, cancelTicketAction(c.Universe))
	c.addAction(r, gate, erasePlayerAction)
	c.addAction(r, gate, taintAction)
	c.addAction(r, gate, revokeEnrolmentAction)
	c.addAction(r, gate, revokeServerAction)
	c.addAction(r, gate, drainAgentAction)
	c.addAction(r, gate, undrainAgentAction)
	for _, deed := range roomDeeds {
		c.addAction(r, gate, deed.action())
	}
	c.addAction(r, gate, stopAction)
	c.addAction(r, gate, scaleAction)
	c.addAction(r, gate, pausePoolAction)
	c.addAction(r, gate, resumePoolAction)
	c.addAction(r, gate, pauseProfileAction(c.Universe))
	c.addAction(r, gate, resumeProfileAction(c.Universe))
	c.addAction(r, gate, c.rotateAction())
	c.addAction(r, gate, pauseWebhookAction)
	c.addAction(r, gate, resumeWebhookAction)
	c.addAction(r, gate, replayWebhookAction("/webhooks/:name/replay"))
	c.addAction(r, gate, replayWebhookAction("/webhooks/:name/replay/:event"))
	c.addAction(r, gate, limitValveAction)
	c.addAction(r, gate, openValveAction)
	c.addAction(r, gate, closeValveAction)
}
