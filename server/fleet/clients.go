package fleet

import (
	"context"
	"strconv"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/server/rest"
)

type clientsRequest struct {
	InstanceID  string     `json:"instance_id"`
	Incarnation *uuid.UUID `json:"incarnation"`
	Seq         *int64     `json:"seq"` // orders the lists of an instance, of which one may overtake another on its way
	Clients     []string   `json:"clients"`
}

// clientID has one form for each number, so that a list names a client once.
var clientID = rest.Format{
	Description: "a number from 1 to 9223372036854775807, in decimal without leading zeros",
	Valid: func(s string) bool {
		n, err := strconv.ParseInt(s, 10, 64)
		return err == nil && n > 0 && strconv.FormatInt(n, 10) == s
	},
}

func (r *clientsRequest) caller() caller { return caller{r.InstanceID, r.Incarnation} }

// Validate implements rest.Validator.
func (r *clientsRequest) Validate(c *rest.Check) {
	r.caller().checkInstance(c)
	c.That(r.Seq != nil && *r.Seq > 0, "seq", "is required and must be 1 or more")
	// An empty list takes every seat back, so it has to be meant.
	c.That(r.Clients != nil, "clients", "is required and must be a list")
	c.Count("clients", len(r.Clients), 0, maxEntries)
	c.Each("clients", r.Clients, clientID)
	c.Unique("clients", r.Clients)
}

func (r *clientsRequest) clientList() db.ClientList {
	list := db.ClientList{InstanceRef: r.caller().instanceRef(), Seq: *r.Seq, ClientIDs: make([]uint64, len(r.Clients))}
	for i, id := range r.Clients {
		list.ClientIDs[i], _ = strconv.ParseUint(id, 10, 64) // checked by Validate
	}
	return list
}

type clientsAnswer struct {
	InstanceID string          `json:"instance_id"`
	Applied    bool            `json:"applied"` // false: a list with a higher seq came first
	Refused    []refusedClient `json:"refused"`
}

type refusedClient struct {
	ClientID uint64        `json:"client_id,string"` // as text: JavaScript rounds numbers from 2⁵³ on
	Result   db.SeatResult `json:"result"`
}

// reportClients stores who is connected to a netcode server, unless a list with a higher seq came first.
func (f face) reportClients(ctx context.Context, in rest.In[clientsRequest]) (clientsAnswer, error) {
	if err := in.Body.caller().checkCredential(ctx); err != nil {
		return clientsAnswer{}, err
	}
	res, err := f.store.ReportClients(ctx, in.Body.clientList())
	// Never nil: the answer has a list, if an empty one.
	refused := make([]refusedClient, len(res.RefusedClients))
	for i, r := range res.RefusedClients {
		refused[i] = refusedClient{r.ClientID, r.SeatResult}
	}
	return clientsAnswer{in.Body.InstanceID, res.IsApplied, refused}, err
}
