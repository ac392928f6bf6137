package realtime

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/lobby"
	"github.com/lattice-director/director/server/realtime/wire"
	"github.com/lattice-director/director/token"
)

// Pins hints that name messages that are not served, or leave out some that are.
func TestHintsNameWhatIsServed(t *testing.T) {
	t.Parallel()
	served := slices.DeleteFunc(slices.Sorted(maps.Keys((&Server{}).allRPCs())), func(name string) bool {
		// an alias, and what is refused
		return name == "room.plugin.call" || name == "position.update" || name == "aim.update" || strings.HasSuffix(name, ".delta")
	})
	named := regexp.MustCompile(`[a-z]+\.[a-z._]+|echo`).FindAllString(wire.Hints[wire.CodeUnknownType], -1)
	require.ElementsMatch(t, append(served, "state.ack"), named)
	for _, e := range []*lobby.Error{lobby.ErrNotFound, lobby.ErrNotMember, lobby.ErrWrongType, lobby.ErrNoLogic, lobby.ErrNotInvited} {
		require.NotEmpty(t, wire.Hints[e.Code], e.Code)
	}
	for _, r := range []*refusal{refuseSilence, refuseVersion, refuseCodec, refuseFrame("x"), refuseKey("x")} {
		require.NotEmpty(t, handshakeHints[r.code], r.code)
	}
	for _, r := range []token.ProjectRefusal{token.ProjectTokenMissing, token.ProjectTokenMalformed, token.ProjectTokenForged, token.ProjectTokenExpired} {
		require.NotEmpty(t, refuseToken(string(r)).hint, r)
	}
}
