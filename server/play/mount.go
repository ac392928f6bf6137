package play

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/server/rest"
)

// Mount adds the routes of this face. They belong behind rest.RequireBearer, because the handlers read the player with
// rest.Caller.
func Mount(r gin.IRouter, store Store, keys Signer, connects Connector, modes Modes, parties Parties) {
	f := face{store, keys, connects, modes, parties}
	r.POST("/matchmake", rest.Handle(http.StatusOK, f.placeParty))
	r.POST("/resolve", rest.Handle(http.StatusOK, f.resolveSeat))
	r.GET("/sessions/:id", rest.Handle(http.StatusOK, f.showSession))
	r.GET("/regions", rest.Handle(http.StatusOK, f.listRegions))
}

// MountTickets adds the routes of tickets. short is for calls that answer at once, lasting for those that may wait;
// both belong behind rest.RequireBearer, and lasting behind rest.AllowWaiting.
func MountTickets(short, lasting gin.IRouter, t Tickets) {
	f := newTicketFace(t)
	short.POST("/tickets", rest.Handle(http.StatusOK, f.create))
	short.DELETE("/tickets/:id", rest.Handle(http.StatusOK, f.cancel))
	short.POST("/tickets/:id/accept", rest.Handle(http.StatusOK, f.acceptMatch))
	short.POST("/tickets/:id/decline", rest.Handle(http.StatusOK, f.declineMatch))
	lasting.GET("/tickets/:id", rest.Handle(http.StatusOK, f.showTicket))
	lasting.GET("/tickets/:id/events", rest.HandleEvents(f.streamTicket))
}

// MountBackendTickets adds the routes with which a backend queues for players. They belong behind rest.RequireBackend,
// and lasting behind rest.AllowWaiting as well.
func MountBackendTickets(short, lasting gin.IRouter, t Tickets) {
	f := newTicketFace(t)
	f.isBackend = true
	short.POST("/backend/tickets", rest.Handle(http.StatusOK, f.createByBackend))
	short.DELETE("/backend/tickets/:id", rest.Handle(http.StatusOK, f.cancelByBackend))
	lasting.GET("/backend/tickets/:id", rest.Handle(http.StatusOK, f.showTicket))
}

// MountLoginQueue adds the routes of the login queue. short is for calls that answer at once, lasting for those that
// may wait; both belong behind rest.RequireBearer, and lasting behind rest.AllowWaiting.
func MountLoginQueue(short, lasting gin.IRouter, q LoginQueue) {
	f := newLoginFace(q)
	short.POST("/login-queue", rest.Handle(http.StatusOK, f.enterQueue))
	short.DELETE("/login-queue", rest.Handle(http.StatusOK, f.leaveQueue))
	lasting.GET("/login-queue", rest.Handle(http.StatusOK, f.showPlace))
	lasting.GET("/login-queue/events", rest.HandleEvents(f.streamPlace))
}

// MountBackendLoginQueue adds the routes with which a backend, such as a studio's login, asks for players. They belong
// behind rest.RequireBackend, and lasting behind rest.AllowWaiting as well.
func MountBackendLoginQueue(short, lasting gin.IRouter, q LoginQueue) {
	f := newLoginFace(q)
	f.isBackend = true
	short.POST("/backend/players/:sub/login-queue", rest.Handle(http.StatusOK, f.enterQueue))
	short.DELETE("/backend/players/:sub/login-queue", rest.Handle(http.StatusOK, f.leaveQueue))
	lasting.GET("/backend/players/:sub/login-queue", rest.Handle(http.StatusOK, f.showPlace))
}
