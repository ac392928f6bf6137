package fleet

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/token"
)

// Mount adds the routes of this face under /fleet. tokens makes the credentials of game servers that register by an
// enrolment; nil: none does.
func Mount(r gin.IRouter, store Store, tokens *token.ServerTokens) {
	f := face{store, tokens}
	r.POST("/fleet/register", rest.NoteRefusals(f.noteRefusal), rest.Handle(http.StatusOK, f.registerInstance))
	// The token of an enrolment registers game servers, and opens nothing else.
	r = r.Group("", rest.RefuseEnrolments)
	r.POST("/fleet/heartbeat", rest.Handle(http.StatusOK, f.takeHeartbeat))
	r.POST("/fleet/deregister", rest.Handle(http.StatusNoContent, f.endInstance))
	r.POST("/fleet/seats", rest.Handle(http.StatusOK, f.reportSeats))
	r.POST("/fleet/clients", rest.Handle(http.StatusOK, f.reportClients))
	r.POST("/fleet/drain", rest.Handle(http.StatusOK, f.drainInstance))
}

// MountSessions adds GET /fleet/sessions. lasting must authenticate game servers and use rest.AllowWaiting. It returns
// a function that counts the waiting calls.
func MountSessions(lasting gin.IRouter, s Sessions) (waiting func() int) {
	if s.CallTimeout == 0 {
		s.CallTimeout = 900 * time.Millisecond
	}
	if s.pollEvery == 0 {
		s.pollEvery = 5 * time.Second
	}
	f := sessionFace{s, newWaiters(s.MaxWaiters)}
	lasting.GET("/fleet/sessions", rest.RefuseEnrolments, rest.Handle(http.StatusOK, f.listSessions))
	return f.waiters.countWaiting
}

// MountContext adds /fleet/context, which servers that were built for Edgegap call. lasting must authenticate
// deployments and use rest.AllowWaiting.
func MountContext(lasting gin.IRouter, c Context) {
	if c.CallTimeout == 0 {
		c.CallTimeout = 900 * time.Millisecond
	}
	if c.waitFor == 0 {
		c.waitFor, c.pollEvery = contextWait, contextPoll
	}
	f := contextFace{c, newWaiters(c.MaxWaiters)}
	lasting.GET("/fleet/context", rest.Handle(http.StatusOK, f.showContext))
	lasting.DELETE("/fleet/context", rest.Handle(http.StatusAccepted, f.endDeployment))
}
