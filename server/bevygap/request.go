package bevygap

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// maxFrame bounds the only message that a client sends, in bytes.
const maxFrame = 4 << 10

// request is what a client asks for.
type request struct {
	game, version string
	clientIP      string // as the message has it; "" if it has none
}

var errNames = errors.New("game and version must be 1 to 64 letters, digits, spaces, dots, underscores and hyphens")

// decodeRequest decodes the first message of a WebSocket. As bevygap's server, it ignores unknown fields.
func decodeRequest(message []byte) (request, error) {
	var in struct {
		Game     *string `json:"game"`
		Version  *string `json:"version"`
		ClientIP *string `json:"client_ip"`
	}
	// The socket reads one byte more, so that a message that is cut does not pass for a broken one.
	if len(message) > maxFrame {
		return request{}, fmt.Errorf("the request must not be longer than %d bytes", maxFrame)
	}
	if err := json.Unmarshal(message, &in); err != nil {
		return request{},
			errors.New(`the request must be JSON such as {"game":"my-game","version":"1","client_ip":null}`)
	}
	if in.Game == nil || in.Version == nil {
		return request{}, errors.New("the request must have game and version")
	}
	r := request{game: *in.Game, version: *in.Version}
	if in.ClientIP != nil {
		r.clientIP = *in.ClientIP
	}
	return r, r.checkNames()
}

func (r request) checkNames() error {
	if !validName(r.game) || !validName(r.version) {
		return errNames
	}
	return nil
}

// validName accepts what bevygap accepts, and dots, and names of up to 64 bytes instead of 30.
func validName(name string) bool {
	const allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ._-"
	return name != "" && len(name) <= 64 && strings.Trim(name, allowed) == ""
}

// ParseDefault parses the setting of the app version that requests without one ask for, as in GAME/VERSION.
func ParseDefault(text string) (game, version string, err error) {
	game, version, _ = strings.Cut(text, "/")
	if err := (request{game: game, version: version}).checkNames(); err != nil {
		return "", "", fmt.Errorf("%q is not GAME/VERSION: %w", text, err)
	}
	return game, version, nil
}
