// Package ops is the face that operators call, as specified in api/openapi.yaml: profiles and their versions,
// explanations of tickets and matches, the event log, rooms of the realtime lobby, and what is known of a player. It
// translates JSON into calls of the store; db decides about versions, and match/profile reads documents. Authentication
// and limits are set where server mounts the routes.
package ops

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/server/rest"
)

// Mount adds the routes of this face under /ops. The profiles are those of a region of tickets.
func Mount(r gin.IRouter, store Store, region string) {
	f := face{store, region}
	r.GET("/ops/profiles", rest.Handle(http.StatusOK, f.listProfiles))
	r.GET("/ops/profiles/schema", serveSchema)
	r.GET("/ops/profiles/:name", rest.Handle(http.StatusOK, f.showProfile))
	r.PUT("/ops/profiles/:name", rest.Handle(http.StatusOK, f.applyProfile))
	r.DELETE("/ops/profiles/:name", rest.Handle(http.StatusOK, f.retireProfile))
	r.POST("/ops/profiles/:name/rollback", rest.Handle(http.StatusOK, f.rollBackProfile))
}

// MountEvents adds the route of the event log. It belongs behind rest.AllowWaiting.
func MountEvents(r gin.IRouter, o Events) {
	f := &eventsFace{options: o, streamSlots: make(chan struct{}, maxStreams)}
	follow := rest.HandleEvents(f.streamEvents)
	r.GET("/ops/events", func(c *gin.Context) {
		// The EventSource of a browser accepts a stream; everybody else gets a page.
		if strings.Contains(c.GetHeader("Accept"), "text/event-stream") {
			follow(c)
			return
		}
		f.listEvents(c)
	})
}

// MountLobby adds the routes about rooms of the realtime lobby under /ops/lobby.
func MountLobby(r gin.IRouter, store LobbyStore) {
	f := lobbyFace{store}
	r.GET("/ops/lobby/room", rest.Handle(http.StatusOK, f.showRoom))
	r.POST("/ops/lobby/kick", rest.Handle(http.StatusOK, f.kickPlayer))
	r.POST("/ops/lobby/ban", rest.Handle(http.StatusOK, f.banPlayer))
	r.POST("/ops/lobby/mute", rest.Handle(http.StatusOK, f.mutePlayer))
	r.POST("/ops/lobby/pardon", rest.Handle(http.StatusOK, f.pardonPlayer))
	r.POST("/ops/lobby/change", rest.Handle(http.StatusOK, f.changeRoom))
	r.POST("/ops/lobby/close", rest.Handle(http.StatusOK, f.closeRoom))
	r.POST("/ops/lobby/message", rest.Handle(http.StatusOK, f.announceInRoom))
	r.POST("/ops/lobby/tell", rest.Handle(http.StatusOK, f.messagePlayer))
}

// MountPlayers adds the routes about players under /ops/players.
func MountPlayers(r gin.IRouter, store PlayerStore) {
	f := playerFace{store}
	r.POST("/ops/players/:sub/erase", rest.Handle(http.StatusOK, f.erasePlayer))
	r.GET("/ops/players/:sub/export", rest.Handle(http.StatusOK, f.exportPlayer))
}
