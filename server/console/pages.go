package console

import (
	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/server/rest"
)

// mountPages adds all pages and actions.
func (c *Console) mountPages(r gin.IRoutes, gate *rest.Gate) {
	add(c, r, gate, c.healthPage())
	add(c, r, gate, fleetPage)
	c.addAction(r, gate, drainAction)
	c.addAction(r, gate, undrainAction)
}
