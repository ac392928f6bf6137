package realtime

import (
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/server/realtime/wire"
	"github.com/lattice-director/director/token"
)

const firstFrame = `the first frame is {"v": 1, "codecs": ["json"], "token": "…"}`

// handshakeHints are the hints for refused handshakes, by code.
var handshakeHints = map[string]string{
	wire.CodeBadFrame:   firstFrame,
	wire.CodeVersion:    firstFrame,
	"handshake_timeout": firstFrame,
	"unsupported_codec": `"codecs" must contain msgpack or json`,
	fault.CodeElsewhere: "another cell serves the region of this project: connect to `address`, as long as this one names it",
	"too_many_sessions": "resume a session with its session_id instead of opening another one; one that is closed counts " +
		"until its TTL is over",
	"key_refused": "mint a token for a key of the project that is not revoked: `director projects keys PROJECT` lists the keys",
}

// tokenHints are the hints for refused tokens.
var tokenHints = map[token.ProjectRefusal]string{
	token.ProjectTokenMissing:   "POST /tokens of the control API mints a token, and so does `director projects token PROJECT KEY`",
	token.ProjectTokenMalformed: "a token of the realtime lobby has two parts, as POST /tokens returns it",
	token.ProjectTokenForged: "the token was signed with a secret that this director does not have for the project: " +
		"compare DIRECTOR_REALTIME_MASTER_SECRET with its issuer's",
	token.ProjectTokenExpired: "mint another token: ttl_seconds may be up to 86400",
}
