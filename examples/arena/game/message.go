package game

import "github.com/coder/websocket"

// The types of messages, all JSON text. The first one of a client must be its hello.
const (
	TypeHello   = "hello"   // client: Token
	TypeSteer   = "steer"   // client: Heading
	TypeWelcome = "welcome" // server: You, SessionID, Mode, MaxPlayers
	TypeState   = "state"   // server: State, at every tick
)

// ClientMessage is what a player's program sends. The session token travels in it and not in the URL, because URLs end up
// in the logs of whatever is on the way.
type ClientMessage struct {
	Type    string `json:"type"`
	Token   string `json:"token,omitempty"`
	Heading Point  `json:"heading"`
}

// ServerMessage is what the game server sends.
type ServerMessage struct {
	Type       string `json:"type"`
	You        string `json:"you,omitempty"`
	SessionID  string `json:"session_id,omitempty"`
	Mode       string `json:"mode,omitempty"`
	MaxPlayers int    `json:"max_players,omitempty"`
	State      *State `json:"state,omitempty"`
}

// Why a server closes a connection, beside the codes of RFC 6455. After Refused, ask the director for another token; after
// SessionEnded and StatusGoingAway, for another match; after Replaced, stay away.
const (
	StatusRefused      websocket.StatusCode = 4001
	StatusReplaced     websocket.StatusCode = 4002
	StatusSessionEnded websocket.StatusCode = 4003
)

// MaxMessage bounds messages of clients, in bytes: room for a token.
const MaxMessage = 16 << 10
