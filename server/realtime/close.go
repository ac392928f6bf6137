package realtime

import "github.com/coder/websocket"

// The codes and reasons with which connections are closed; delivery/push.go has those that the hub chooses.
const (
	closeRestart    = websocket.StatusServiceRestart // 1012
	closeTryLater   = websocket.StatusTryAgainLater  // 1013
	closeBadRequest = websocket.StatusCode(4400)
	closeToken      = websocket.StatusCode(4401)
	closeTimeout    = websocket.StatusCode(4408)
	closeRateLimits = websocket.StatusCode(4429)

	reasonStopping = "the server restarts"
	reasonFenced   = "the server lost its lease"
	reasonOverflow = "the client reads too slowly"
	reasonRates    = "too many messages"
	reasonGarbage  = "too many frames that cannot be decoded"
)
