package lobby

import (
	"context"
	"errors"
	"net/url"
	"slices"
)

// codeElsewhere is the code of a handshake that another cell would accept.
const codeElsewhere = "region_elsewhere"

// openFollowing is openConnection that connects to the cell which the replica names, if another one serves the project.
// It follows only configured replicas, and one answer for each attempt: nobody else can name an address to which the
// token is sent, and two cells that name each other make no loop. The cell is remembered until a configured replica
// accepts the client, so that the client needs no other cell while it plays.
func (c *Client) openFollowing(ctx context.Context, replica, token string) error {
	err := c.openConnection(ctx, replica, token)
	if !slices.Contains(c.options.URLs, replica) {
		return err
	}
	cell := cellAddress(err, replica) // "" also where the replica itself has accepted the client
	if cell != "" {
		err = c.openConnection(ctx, cell, token)
	}
	if err == nil {
		c.cell = cell
	}
	return err
}

// cellAddress returns the address that a refused handshake names; "" if there is none, or if the token would be sent in
// plain text where it was sent by TLS.
func cellAddress(err error, asked string) string {
	refused, is := errors.AsType[*Error](err)
	if !is || refused.Code != codeElsewhere {
		return ""
	}
	to, err := url.Parse(refused.Address)
	if err != nil || to.Host == "" || !slices.Contains(schemes, to.Scheme) || isPlainScheme(to) && !isPlainURL(asked) {
		return ""
	}
	return refused.Address
}

func isPlainScheme(u *url.URL) bool { return u.Scheme == "ws" || u.Scheme == "http" }

func isPlainURL(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && isPlainScheme(u)
}
