package game

import "github.com/coder/websocket"

// The types of messages, all JSON text. The first one of a client must be its hello.
const (
	TypeHello   = "hello"   // client: Token
	TypeSteer   = "steer"   // client: Heading
	TypeWelcome = "welcome" // server: You, SessionID, Mode, MaxPlayers
	TypeState   = "state"   // server: State, at every tick
)

// ClientMessage is a message of a player's program. The session token is in it and not in the URL, because proxies log
// URLs.
type ClientMessage struct {
	Type    string `json:"type"`
	Token   string `json:"token,omitempty"`
	Heading Point  `json:"heading"`
}

// ServerMessage is a message of the game server.
type ServerMessage struct {
	Type       string `json:"type"`
	You        string `json:"you,omitempty"`
	SessionID  string `json:"session_id,omitempty"`
	Mode       string `json:"mode,omitempty"`
	MaxPlayers int    `json:"max_players,omitempty"`
	State      *State `json:"state,omitempty"`
}

// Close codes of the server, in addition to those of RFC 6455. After StatusRefused a client asks the director for
// another token; after StatusSessionEnded and the RFC's StatusGoingAway for another match; after StatusReplaced it does
// not connect again.
const (
	StatusRefused      websocket.StatusCode = 4001
	StatusReplaced     websocket.StatusCode = 4002
	StatusSessionEnded websocket.StatusCode = 4003
)

// MaxMessage bounds messages of clients, in bytes: room for a token.
const MaxMessage = 16 << 10
