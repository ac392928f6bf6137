package play

import (
	"context"

	"github.com/lattice-director/director/server/keyring"
	"github.com/lattice-director/director/server/rest"
)

type resolveRequest struct {
	SessionHandle *string `json:"session_handle"`
}

// Validate implements rest.Validator. It does not check the form of the handle: an invalid one is answered like an
// unknown one.
func (r *resolveRequest) Validate(c *rest.Check) {
	c.That(r.SessionHandle != nil, "session_handle", "is required and must be a string")
}

type resolveAnswer struct {
	Endpoint     string `json:"endpoint"`
	SessionToken string `json:"session_token"`
	SessionID    string `json:"session_id"`

	Netcode *netcodeAnswer `json:"netcode,omitempty"` // for games whose servers take connect tokens
}

// resolveSeat exchanges a session handle for the caller's session token, and for a connect token where the server takes
// such.
func (f face) resolveSeat(ctx context.Context, in rest.In[resolveRequest]) (resolveAnswer, error) {
	sub := rest.Caller(ctx)
	r, err := f.store.Resolve(ctx, *in.Body.SessionHandle, sub)
	logSession(ctx, r.SessionID)
	if err != nil {
		return resolveAnswer{}, err
	}
	signed, err := f.tokenSigner.Sign(keyring.ClaimsFor(r, sub))
	if err != nil {
		return resolveAnswer{}, err
	}
	// connectTicket is nil, without an error, where the server of the seat takes no connect tokens.
	connectTicket, err := f.connectMinter.Ticket(r)
	return resolveAnswer{r.Endpoint, signed, r.SessionID, netcodeOf(connectTicket)}, err
}
