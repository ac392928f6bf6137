package token

import (
	"encoding/json"
	"time"
	"unicode/utf8"
)

// Issuer and Audience are the iss and aud of every session token.
const (
	Issuer   = "lattice-director"
	Audience = "lattice-gameserver"
)

// SessionClaims holds the claims of a session token, which allows a player to take a seat of a session. All fields are
// required except Mode, MaxPlayers and Party, which older directors do not write, and Match and Team, which only seats
// of a match have. The token holds times in whole seconds, truncated.
type SessionClaims struct {
	Subject   string    // sub: the player; see ValidSubject
	SessionID string    // sid
	Handle    string    // hdl: the session handle that the player exchanged for the token
	Endpoint  string    // ep: the address of the game server
	Region    string    // region
	ID        string    // jti: unique to the token
	IssuedAt  time.Time // iat, by the database's clock
	Expires   time.Time // exp, by the database's clock

	Mode       string // mode: of the session
	MaxPlayers int    // max_players: seats of the session; 0 is unknown
	Party      string // party: the same for all players who were seated together
	Match      string // mid: the match that a profile made
	Team       string // team: of the player in the match
}

// sessionJSON is the payload, in the order of its members.
type sessionJSON struct {
	Issuer    string `json:"iss"`
	Audience  string `json:"aud"`
	Subject   string `json:"sub"`
	SessionID string `json:"sid"`
	Handle    string `json:"hdl"`
	Endpoint  string `json:"ep"`
	Region    string `json:"region"`
	ID        string `json:"jti"`
	IssuedAt  int64  `json:"iat"`
	Expires   int64  `json:"exp"`

	Mode       string `json:"mode,omitempty"`
	MaxPlayers int    `json:"max_players,omitempty"`
	Party      string `json:"party,omitempty"`
	Match      string `json:"mid,omitempty"`
	Team       string `json:"team,omitempty"`
}

func (c SessionClaims) encodeJSON() ([]byte, error) {
	if err := c.checkContents(); err != nil {
		return nil, err
	}
	return json.Marshal(sessionJSON{
		Issuer: Issuer, Audience: Audience, Subject: c.Subject, SessionID: c.SessionID, Handle: c.Handle,
		Endpoint: c.Endpoint, Region: c.Region, ID: c.ID, IssuedAt: c.IssuedAt.Unix(), Expires: c.Expires.Unix(),
		Mode: c.Mode, MaxPlayers: c.MaxPlayers, Party: c.Party, Match: c.Match, Team: c.Team,
	})
}

// checkContents is applied by Sign and by Verify: required claims are there, and each claim can be written as JSON.
// Invalid UTF-8 is refused because the JSON encoder would replace it, and the token would then name another player.
func (c SessionClaims) checkContents() error {
	for _, s := range [...]string{c.SessionID, c.Handle, c.Endpoint, c.Region, c.ID} {
		if s == "" {
			return MissingClaim
		}
		if !utf8.ValidString(s) {
			return BadClaim
		}
	}
	for _, s := range [...]string{c.Mode, c.Party, c.Match, c.Team} {
		if !utf8.ValidString(s) {
			return BadClaim
		}
	}
	if c.MaxPlayers < 0 {
		return BadClaim
	}
	iat, exp := c.IssuedAt.Unix(), c.Expires.Unix()
	if !ValidSubject(c.Subject) || iat < 0 || exp <= iat || exp > lastDate {
		return BadClaim
	}
	return nil
}

// sessionMembers holds the destinations of the members of a payload.
type sessionMembers struct {
	registered                                        registered
	sid, hdl, ep, region, jti, mode, party, mid, team text
	maxPlayers                                        count
}

func (m *sessionMembers) memberReader(name string) member {
	switch name {
	case "sid":
		return &m.sid
	case "hdl":
		return &m.hdl
	case "ep":
		return &m.ep
	case "region":
		return &m.region
	case "jti":
		return &m.jti
	case "mode":
		return &m.mode
	case "party":
		return &m.party
	case "mid":
		return &m.mid
	case "team":
		return &m.team
	case "max_players":
		return &m.maxPlayers
	}
	return m.registered.memberReader(name)
}

func (m *sessionMembers) asClaims() SessionClaims {
	return SessionClaims{
		Subject: m.registered.subject.stringValue, SessionID: m.sid.stringValue, Handle: m.hdl.stringValue,
		Endpoint: m.ep.stringValue,
		Region:   m.region.stringValue, ID: m.jti.stringValue, IssuedAt: m.registered.timeClaims.issuedAt.asTime(),
		Expires: m.registered.timeClaims.expiry.asTime(),
		Mode:    m.mode.stringValue, MaxPlayers: m.maxPlayers.numberValue, Party: m.party.stringValue,
		Match: m.mid.stringValue,
		Team:  m.team.stringValue,
	}
}
