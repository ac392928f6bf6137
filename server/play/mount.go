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

// MountTickets adds the routes of tickets. shortCalls is for calls that answer at once, waitingCalls for those that may
// wait; both belong behind rest.RequireBearer, and waitingCalls behind rest.AllowWaiting.
func MountTickets(shortCalls, waitingCalls gin.IRouter, t Tickets) {
	f := newTicketFace(t)
	shortCalls.POST("/tickets", rest.Handle(http.StatusOK, f.create))
	shortCalls.DELETE("/tickets/:id", rest.Handle(http.StatusOK, f.cancel))
	shortCalls.POST("/tickets/:id/accept", rest.Handle(http.StatusOK, f.acceptMatch))
	shortCalls.POST("/tickets/:id/decline", rest.Handle(http.StatusOK, f.declineMatch))
	waitingCalls.GET("/tickets/:id", rest.Handle(http.StatusOK, f.showTicket))
	waitingCalls.GET("/tickets/:id/events", rest.HandleEvents(f.streamTicket))
}

// MountBackendTickets adds the routes with which a backend queues for players. They belong behind rest.RequireBackend,
// and waitingCalls behind rest.AllowWaiting as well.
func MountBackendTickets(shortCalls, waitingCalls gin.IRouter, t Tickets) {
	f := newTicketFace(t)
	f.isBackend = true
	shortCalls.POST("/backend/tickets", rest.Handle(http.StatusOK, f.createByBackend))
	shortCalls.DELETE("/backend/tickets/:id", rest.Handle(http.StatusOK, f.cancelByBackend))
	waitingCalls.GET("/backend/tickets/:id", rest.Handle(http.StatusOK, f.showTicket))
}

// MountLoginQueue adds the routes of the login queue. shortCalls is for calls that answer at once, waitingCalls for
// those that may wait; both belong behind rest.RequireBearer, and waitingCalls behind rest.AllowWaiting.
func MountLoginQueue(shortCalls, waitingCalls gin.IRouter, q LoginQueue) {
	f := newLoginFace(q)
	shortCalls.POST("/login-queue", rest.Handle(http.StatusOK, f.enterQueue))
	shortCalls.DELETE("/login-queue", rest.Handle(http.StatusOK, f.leaveQueue))
	waitingCalls.GET("/login-queue", rest.Handle(http.StatusOK, f.showPlace))
	waitingCalls.GET("/login-queue/events", rest.HandleEvents(f.streamPlace))
}

// MountBackendLoginQueue adds the routes with which a backend, such as a studio's login, asks for players. They belong
// behind rest.RequireBackend, and waitingCalls behind rest.AllowWaiting as well.
func MountBackendLoginQueue(shortCalls, waitingCalls gin.IRouter, q LoginQueue) {
	f := newLoginFace(q)
	f.isBackend = true
	shortCalls.POST("/backend/players/:sub/login-queue", rest.Handle(http.StatusOK, f.enterQueue))
	shortCalls.DELETE("/backend/players/:sub/login-queue", rest.Handle(http.StatusOK, f.leaveQueue))
	waitingCalls.GET("/backend/players/:sub/login-queue", rest.Handle(http.StatusOK, f.showPlace))
}
