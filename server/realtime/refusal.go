package realtime

import (
	"github.com/coder/websocket"

	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/server/realtime/delivery"
	"github.com/lattice-director/director/server/realtime/wire"
	"github.com/lattice-director/director/token"
)

// refusal is why a client gets no session.
type refusal struct {
	closeCode websocket.StatusCode
	code      string
	reason    string // the error of connect in the SDK
	hint      string // for the author of the client; "": the hint of the code

	otherCell *fault.Cell // that serves the region of the project, for a client to ask; nil: this one
	isCharged bool        // counts as a failure of the client's address
}

var (
	refuseSilence = &refusal{closeCode: closeTimeout, code: "handshake_timeout", reason: "no handshake in time"}
	refuseVersion = &refusal{closeCode: closeBadRequest, code: wire.CodeVersion,
		reason: "unsupported handshake protocol version"}
	refuseCodec = &refusal{closeCode: closeBadRequest, code: "unsupported_codec",
		reason: "codec negotiation failed"}
	refuseTakeovers = &refusal{closeCode: delivery.CloseSuperseded, code: wire.CodeRateLimited,
		reason: "the session was taken over too often"}
	refuseUnavailable = &refusal{closeCode: closeTryLater, code: wire.CodeUnavailable,
		reason: "temporarily unavailable"}
)

func refuseFrame(why string) *refusal {
	return &refusal{closeCode: closeBadRequest, code: wire.CodeBadFrame, reason: "decode failed: " + why}
}

// refuseToken is the refusal of a token. why is a [token.ProjectRefusal], which has a hint, or another text, which has
// none.
func refuseToken(why string) *refusal {
	return &refusal{closeCode: closeToken, code: "token_refused", reason: "token verification failed: " + why,
		hint: tokenHints[token.ProjectRefusal(why)], isCharged: true}
}

func refuseKey(why string) *refusal {
	return &refusal{closeCode: delivery.CloseKey, code: "key_refused", reason: "token key status failed: " + why,
		isCharged: true}
}
