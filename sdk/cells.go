package sdk

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// maxRemembered bounds the regions, and the tickets, whose cells a client remembers.
const maxRemembered = 4096

// cells is what a client knows of other cells: installations that serve other regions of the title. It learns that from
// answers of the configured replicas alone, so nobody else can name an address to which tokens are sent.
type cells struct {
	mu          sync.Mutex
	regionCells places
	ticketCells places // of this client
}

// places are addresses of cells, by what is there. The zero value is empty.
type places struct {
	addressByKey map[string]string
	oldestFirst  []string // keys in the order in which they came
}

func (p *places) rememberAddress(what, address string) {
	if p.addressByKey == nil {
		p.addressByKey = map[string]string{}
	}
	if _, known := p.addressByKey[what]; !known {
		p.oldestFirst = append(p.oldestFirst, what)
	}
	p.addressByKey[what] = address
	if len(p.oldestFirst) > maxRemembered {
		p.forgetAddress(p.oldestFirst[0])
	}
}

func (p *places) forgetAddress(what string) {
	delete(p.addressByKey, what)
	for i, known := range p.oldestFirst {
		if known == what {
			p.oldestFirst = append(p.oldestFirst[:i], p.oldestFirst[i+1:]...)
			return
		}
	}
}

// addressFor returns the address of the cell that has what a call names, "" if the client knows none.
func (c *cells) addressFor(k call) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k.ticket != "" {
		return c.ticketCells.addressByKey[k.ticket]
	}
	return c.regionCells.addressByKey[k.region]
}

// rememberTicket remembers the cell in which a ticket was created; "" is the cell of the configured replicas.
func (c *cells) rememberTicket(id, address string) {
	if address == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ticketCells.rememberAddress(id, address)
}

func (c *cells) forgetRegion(region string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.regionCells.forgetAddress(region)
}

// followError returns the address of the cell that a refusal names, and remembers it for the region. It returns "" if
// err is no such refusal, or names an address that is not followed.
func (c *cells) followError(asked string, err error) (address string) {
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
	c.regionCells.rememberAddress(answer.region, address)
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
