package sdk

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// maxRemembered bounds the regions, and the tickets, whose cells a client remembers.
const maxRemembered = 4096

// cells is what a client knows of other cells: installations that serve other regions of the title. It learns that from
// answers of the configured replicas alone, so nobody else can name an address to which tokens are sent.
type cells struct {
	mu      sync.Mutex
	regions places
	tickets places // of this client
}

// places are addresses of cells, by what is there. The zero value is empty.
type places struct {
	addresses map[string]string
	oldest    []string // keys in the order in which they came
}

func (p *places) remember(what, address string) {
	if p.addresses == nil {
		p.addresses = map[string]string{}
	}
	if _, known := p.addresses[what]; !known {
		p.oldest = append(p.oldest, what)
	}
	p.addresses[what] = address
	if len(p.oldest) > maxRemembered {
		p.forget(p.oldest[0])
	}
}

func (p *places) forget(what string) {
	delete(p.addresses, what)
	for i, known := range p.oldest {
		if known == what {
			p.oldest = append(p.oldest[:i], p.oldest[i+1:]...)
			return
		}
	}
}

// addressFor returns the address of the cell that has what a call names, "" if the client knows none.
func (c *cells) addressFor(k call) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k.ticket != "" {
		return c.tickets.addresses[k.ticket]
	}
	return c.regions.addresses[k.region]
}

// rememberTicket remembers where a ticket was created; "" is the cell of the configured replicas.
func (c *cells) rememberTicket(id, address string) {
	if address == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tickets.remember(id, address)
}

func (c *cells) forgetRegion(region string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.regions.forget(region)
}

// follow returns where to ask in place of the replica that was asked, and remembers it; "" if the answer was another.
func (c *cells) follow(asked string, err error) (address string) {
	answer, answered := errors.AsType[*Error](err)
	if !answered || !isElsewhere(err) {
		return ""
	}
	address, err = cellAddress(answer.address, asked)
	if err != nil {
		return ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.regions.remember(answer.region, address)
	return address
}

// cellAddress checks an address that a replica has named. A token that was sent by https is not sent in plain text.
func cellAddress(raw, asked string) (string, error) {
	address, err := baseURL(raw)
	if err != nil {
		return "", err
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	if u.User != nil || u.Scheme != "https" && strings.HasPrefix(asked, "https:") {
		return "", errors.New("sdk: a replica names the cell of a region by an address that is not followed")
	}
	return address, nil
}

// isElsewhere returns whether another cell serves the region that a call names.
func isElsewhere(err error) bool {
	answer, answered := errors.AsType[*Error](err)
	return answered && answer.Status == http.StatusMisdirectedRequest && answer.Code == "region_elsewhere"
}

// reach makes attempts until one is answered, and returns the address of the cell that answered, "" for that of the
// configured replicas. It asks the cell that has what the call names, where the client knows it. Otherwise it asks each
// configured replica in turn, and follows one answer that another cell has it. A region is asked for again when its cell
// is not reachable or sends the client away; a ticket stays where it is.
func (c *Client) reach(ctx context.Context, k call, attempt func(base string) error) (cell string, err error) {
	if known := c.cells.addressFor(k); known != "" {
		err = attempt(known)
		if k.ticket != "" || ctx.Err() != nil || !replicaUnavailable(err) && !isElsewhere(err) {
			return known, err
		}
		c.cells.forgetRegion(k.region)
	}
	asked, err := c.tryReplicas(ctx, attempt)
	if next := c.cells.follow(asked, err); next != "" {
		return next, attempt(next)
	}
	return "", err
}

// tryReplicas makes an attempt at each configured replica in turn, without a pause, until one answers, and returns which
// did. A replica that is unreachable or shutting down says nothing about the others, so there is no reason to wait.
func (c *Client) tryReplicas(ctx context.Context, attempt func(base string) error) (asked string, err error) {
	for range c.replicas.count() {
		rep := c.replicas.pick(time.Now())
		asked, err = rep.base, attempt(rep.base)
		if !replicaUnavailable(err) || ctx.Err() != nil {
			return asked, err
		}
		c.replicas.failed(rep, time.Now())
	}
	return asked, err
}
