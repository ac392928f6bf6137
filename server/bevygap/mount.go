package bevygap

import (
	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/server/rest"
)

// Mount adds the routes of this face. The Origin of their requests must be unchanged.
func (f *Face) Mount(r gin.IRouter) {
	r = r.Group("", f.refuseOrigin)
	r.GET("/matchmaker", f.servePage)
	r.GET("/matchmaker/ws", f.serveSocket)
	r.POST("/matchmaker/request/:game/:version", rest.DropBody, f.serveStream)
	r.POST("/matchmaker/wannaplay", rest.DropBody, f.serveWannaplay)
}
