package httpcall

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/lattice-director/director/provider"
)

// Bounds of Scrub.
const (
	minSecret = 8 // shorter values are words and numbers
	// maxMessage is what a message may have before it is scrubbed. A longer one is dropped: where it is cut, half a
	// secret could stay.
	maxMessage = 64 << 10
)

// Scrub returns a message without secrets, also in the form they have in JSON, and without control characters, of
// provider.MaxErrorBytes at most.
func Scrub(message string, secrets []string) string {
	if len(message) > maxMessage {
		return fmt.Sprintf("a message of %d bytes", len(message))
	}
	var hide []string
	for _, s := range secrets {
		inJSON, _ := json.Marshal(s)
		if len(s) >= minSecret {
			hide = append(hide, s, strings.Trim(string(inJSON), `"`))
		}
	}
	slices.SortFunc(hide, func(a, b string) int { return len(b) - len(a) }) // a secret may be the beginning of another
	for _, s := range hide {
		message = strings.ReplaceAll(message, s, "[hidden]")
	}
	message = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, message)
	return strings.ToValidUTF8(message[:min(len(message), provider.MaxErrorBytes)], "")
}
