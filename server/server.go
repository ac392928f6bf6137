// Package server is a replica. It mounts the faces behind their middlewares (authentication, limits, deadlines), opens
// the listeners, runs the loops that refresh signing keys and clock, and stops without losing a call. The calls
// themselves are in the faces: fleet and hook for game servers and providers, play, bevygap and realtime for players,
// backend and openmatch for services, ops, console, projects and orchestrator for operators, and infra. The HTTP
// toolkit is in rest. A replica holds no state; db does.
//
// Game servers and players each have [Options.MaxInFlight] slots. A call passes these steps, the cheapest first:
//
//  1. While no slot is free, the call is answered 503 at once. For players' calls this is checked before routing.
//  2. The token and the player's rate are checked. This needs headers only: no body is read before authentication.
//  3. The body, of at most 64 KiB, is read within [Options.BodyTimeout]. Twice as many bodies as slots are read at a
//     time; one more displaces the slowest. With 512 slots, bodies being read take at most 64 MiB for each audience.
//  4. The call takes a slot, or is answered 503. If the caller disconnects, the slot is freed when the statement that
//     runs for the call has ended. A call that is decided in a batch frees it at once, because db bounds the calls that
//     wait.
//  5. [Options.CallTimeout] begins. The body is decoded and the call decided.
//
// A call that may wait for a ticket (a long poll, a stream of events) or for sessions takes no slot, since waiting
// costs only memory. The hub and fleet bound how many there are, db bounds those that read at a time, and each reading
// has a timeout.
//
// new.go makes a replica, and each mount_*.go the part of it that one audience calls; middlewares.go has what stands
// before their calls. run.go runs and stops a replica, with the listeners of listen.go and the loops of loops.go.
//
// Which key signs a session token? queries/key.sql decides by times in rows, token/ring.go picks the key by these
// times, and keyring keeps the rows in memory.
package server

import (
	"context"
	"net/http"
	"sync/atomic"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/internal/matching/explainer"
	"github.com/lattice-director/director/internal/matching/watch"
	"github.com/lattice-director/director/internal/refusals"
	"github.com/lattice-director/director/server/bevygap"
	"github.com/lattice-director/director/server/bevygap/nats"
	"github.com/lattice-director/director/server/openmatch"
	"github.com/lattice-director/director/server/realtime"
	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/token"
)

// Server is one replica. Make it with [New] and call [Server.Run] once.
type Server struct {
	options       Options
	apiEngine     *gin.Engine
	guardedEngine http.Handler // the engine behind the players' gate
	api           *rest.HTTPServer
	metrics       *rest.HTTPServer                // nil where they are not served
	openMatch     *openmatch.Server               // nil when Open Match is not served
	agents        *agents                         // nil where Rivalis is not served
	bevygap       *bevygap.Face                   // nil where bevygap's clients are not served
	nats          *nats.Server                    // of servers with bevygap's plugin; nil where they are not served
	realtime      *realtime.Server                // nil where the realtime lobby is not served
	control       *rest.HTTPServer                // of the realtime lobby's projects; nil where it is not served
	console       *rest.HTTPServer                // of the operators; nil where it is not served
	checkReady    func(ctx context.Context) error // what /readyz checks
	ticketHub     *watch.Hub                      // of players' tickets; nil when players are not served
	explainer     *explainer.Reader               // of tickets and matches; it bounds how many explanations run at a time
	refusalBook   *refusals.Book                  // of all players' faces
	isWarm        atomic.Bool                     // warmUp has ended
	isDraining    atomic.Bool
	stopping      chan struct{} // closed when calls that wait are to end

	waitingServers func() int             // how many calls wait for sessions; nil: game servers are not served
	consoleKeys    func() token.SetStatus // of the console's issuer of logins; nil: there is none
}
