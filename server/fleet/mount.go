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

// defaultCallTimeout is that of all calls: see server.Options.
const defaultCallTimeout = 900 * time.Millisecond

// MountSessions adds GET /fleet/sessions. waitingCalls must authenticate game servers and use rest.AllowWaiting. The
// function that it returns counts the calls that wait now.
func MountSessions(waitingCalls gin.IRouter, s Sessions) (countWaiting func() int) {
	if s.CallTimeout == 0 {
		s.CallTimeout = defaultCallTimeout
	}
	if s.pollEvery == 0 {
		s.pollEvery = 5 * time.Second
	}
	f := sessionFace{s, newWaiters(s.MaxWaiters)}
	waitingCalls.GET("/fleet/sessions", rest.RefuseEnrolments, rest.Handle(http.StatusOK, f.listSessions))
	return f.waiters.countWaiting
}

// MountContext adds /fleet/context, which servers that were built for Edgegap call. waitingCalls must authenticate
// deployments and use rest.AllowWaiting.
func MountContext(waitingCalls gin.IRouter, c Context) {
	if c.CallTimeout == 0 {
		c.CallTimeout = defaultCallTimeout
	}
	if c.waitFor == 0 {
		c.waitFor, c.pollEvery = contextWait, contextPoll
	}
	f := contextFace{c, newWaiters(c.MaxWaiters)}
	waitingCalls.GET("/fleet/context", rest.Handle(http.StatusOK, f.showContext))
	waitingCalls.DELETE("/fleet/context", rest.Handle(http.StatusAccepted, f.endDeployment))
}
